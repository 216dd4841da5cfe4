import { ZodError } from 'zod';

/** What a file that is verified has in the place of what it should have. The message is a sentence without a subject's file. */
export class DamagedFile extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'DamagedFile';
  }
}

/** Returns what is wrong with a file, in words, for an error of a reader of its parts. */
export function damageInWords(error: unknown): string {
  if (error instanceof ZodError) return 'a record in it has an unknown form';
  if (error instanceof SyntaxError) return 'a record in it is no JSON';
  return error instanceof Error ? error.message : String(error);
}
