/** Fewer rows than this may go between two lists without a doubt. */
const leastSuddenDrop = 4;

/**
 * Whether a list is so much shorter than the last one that it proves no absence (A7): it is empty, less than half, or shorter and of a number at
 * which services cut lists off. `ids` are those of its rows as they came: some may come twice.
 */
export function isSuddenDrop({ known, ids }: { known: number; ids: readonly string[] }): boolean {
  const there = new Set(ids).size;
  if (there === 0) return known > 0;
  const dropped = known - there;
  if (dropped > 0 && (isCutOff(there) || isCutOff(ids.length))) return true;
  return dropped >= leastSuddenDrop && there * 2 < known;
}

/** Largest pages are 100, 200, 250, 400, 500, 1000 and their like. */
export const isCutOff = (count: number) => count >= 100 && count % 50 === 0;
