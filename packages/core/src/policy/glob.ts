/** Whether a text is of a pattern in which `*` stands for any run of characters and `?` for one; whole texts, and case counts. */
export function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
