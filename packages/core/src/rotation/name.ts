/** The control plane takes names of 1 to 64 characters. */
const longest = 64;

const suffix = / kw-[a-z0-9]{8}-\d+$/;

/** A rotation's short id: eight letters and digits, of 40 bits. `random` gives so many random bytes. */
export function makeRotationId(random: (bytes: number) => Uint8Array): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'; // 32, without those that are taken for others
  return [...random(8)].map((byte) => digits[byte % 32]).join('');
}

/** A key's name without what rotations have added. */
export function lineageName(name: string): string {
  return name.replace(suffix, '');
}

/**
 * The name of a successor: that of its line, with the rotation's id and the attempt, so that one whose answer was lost is known again. Cut
 * to the control plane's 64 characters, never inside one.
 */
export function successorName(name: string, { id, attempt }: { id: string; attempt: number }): string {
  const tail = ` kw-${id}-${attempt}`;
  let head = '';
  for (const { segment } of new Intl.Segmenter().segment(lineageName(name))) {
    if (head.length + segment.length + tail.length > longest) break;
    head += segment;
  }
  return `${head.trimEnd()}${tail}`.trimStart();
}
