/** A repeatable random source, so that one seed makes one company. Mulberry32: 32 bits of state, uniform enough for data. */
export interface Random {
  next(): number;
  below(max: number): number;
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  uuid(): string;
  hex(digits: number): string;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const bits = (): number => {
    state = (state + step) >>> 0;
    return mix(state);
  };
  const hex8 = () => bits().toString(16).padStart(8, '0');
  const random: Random = {
    next: () => bits() / 2 ** 32,
    below: (max) => Math.floor(random.next() * max),
    between: (min, max) => min + Math.floor(random.next() * (max - min + 1)),
    chance: (probability) => random.next() < probability,
    pick(from) {
      const picked = from[random.below(from.length)];
      if (picked === undefined) throw new Error('the list to pick from is empty');
      return picked;
    },
    hex: (digits) => (hex8() + hex8()).slice(0, digits),
    uuid() {
      const [a, b, c, d] = [hex8(), hex8(), hex8(), hex8()];
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`;
    },
  };
  return random;
}

const step = 0x6d2b79f5;

/** Returns 32 bits that look random, always the same for one seed: the first that `createRandom` would return. */
export function bitsOf(seed: number): number {
  return mix(((seed >>> 0) + step) >>> 0);
}

function mix(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

/** Returns a seed that belongs to a text. */
export function seedOf(text: string): number {
  let seed = 7;
  for (const character of text) seed = (Math.imul(seed, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return seed;
}

const adjectives = 'quiet misty bold late crimson silent green lucky icy proud round soft'.split(' ');
const nouns = 'river field dawn moon lake breeze tree cloud star hill brook sun'.split(' ');

/** Returns an id as the control plane makes them: two words and digits, after `br`, `ep` or `snap` unless it is for a project. */
export function makeId(random: Random, prefix?: string): string {
  const id = `${random.pick(adjectives)}-${random.pick(nouns)}-${random.hex(8)}`;
  return prefix === undefined ? id : `${prefix}-${id}`;
}

const alphabet = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** Returns a role's password in the control plane's form. It gives no access: the sandbox has no database behind it. */
export function makePassword(random: Random): string {
  return `npg_${Array.from({ length: 16 }, () => alphabet[random.below(alphabet.length)]).join('')}`;
}
