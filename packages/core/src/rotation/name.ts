/** The control plane takes names of 1 to 64 characters. */
const longest = 64;

/** What a rotation adds. It is all of the name if the lineage's name is blank. */
const suffix = /(?:^| )kw-([a-z0-9]{8})-(\d+)$/;

/** Returns a rotation's short id: eight letters and digits, 40 bits. `random` returns that many random bytes. */
export function makeRotationId(random: (bytes: number) => Uint8Array): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'; // 32 digits, without those that look alike
  return [...random(8)].map((byte) => digits[byte % 32]).join('');
}

/** Returns the id of the rotation that a successor's name has; null for any other name. */
export const rotationIdIn = (name: string): string | null => suffix.exec(name.trim())?.[1] ?? null;

/** Returns the mint that a successor's name has, as the rotation's id and the attempt; null for any other name. */
export function mintIn(name: string): string | null {
  const [, id, attempt] = suffix.exec(name.trim()) ?? [];
  return id === undefined ? null : `${id}-${Number(attempt)}`;
}

/** Returns a key's name without what rotations have added. */
export function lineageName(name: string): string {
  return name.replace(suffix, '');
}

/** Returns a successor's name: the lineage's, the rotation's id and the attempt, cut to 64 characters. A lost response's successor is found by it. */
export function successorName(name: string, { id, attempt }: { id: string; attempt: number }): string {
  const tail = ` kw-${id}-${attempt}`;
  let head = '';
  for (const { segment } of new Intl.Segmenter().segment(lineageName(name))) {
    if (head.length + segment.length + tail.length > longest) break;
    head += segment;
  }
  return `${head.trimEnd()}${tail}`.trimStart();
}

/** Returns whether a name is that of a successor of a key with the other name, as a control plane may return it: in another form of Unicode, or trimmed. */
export function isSuccessorName(name: string, of: string): boolean {
  const [, id, attempt] = suffix.exec(name.trim()) ?? [];
  if (id === undefined) return false;
  const normalized = (text: string) => text.normalize('NFKC').trim();
  return normalized(successorName(of, { id, attempt: Number(attempt) })) === normalized(name);
}
