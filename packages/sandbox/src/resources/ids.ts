import type { Random } from '../store/random.ts';

const adjectives = 'quiet misty bold late crimson silent green lucky icy proud round soft'.split(' ');
const nouns = 'river field dawn moon lake breeze tree cloud star hill brook sun'.split(' ');

/** An id as the control plane makes them: two words and digits, after `br`, `ep` or `snap` for what is not a project. */
export function makeId(random: Random, prefix?: string): string {
  const id = `${random.pick(adjectives)}-${random.pick(nouns)}-${random.hex(8)}`;
  return prefix === undefined ? id : `${prefix}-${id}`;
}

const alphabet = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** A role's password, in the control plane's form. It opens nothing: behind the sandbox there is no database. */
export function makePassword(random: Random): string {
  return `npg_${Array.from({ length: 16 }, () => alphabet[random.below(alphabet.length)]).join('')}`;
}
