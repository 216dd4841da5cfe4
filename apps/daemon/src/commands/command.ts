/** A command of the command line: its words, its help, and what it does. A file of this folder declares each. */
export interface CommandOf {
  /** The words after `keywarden`: `keys list`. The command of the first word has the others. */
  name: string;
  /** What it does, in the imperative. */
  about: string;
  /** Each argument with its description: `<file>`, `[key...]`. */
  arguments?: Record<string, string>;
  /** Each option with its description, and with its value if it is not given. */
  required?: Record<string, string>;
  options?: Record<string, string | { about: string; value: string }>;
  /** `list` has table, JSON and CSV, `result` has text and JSON, `text` has no choice. Commands that only have others below them have none. */
  output: 'list' | 'result' | 'text';
  /** Arguments and options as a user types them. */
  examples: string[];
  /** When it exits with 3; absent if it never does. */
  needsPerson?: string;
  /** Returns the exit code. Gets the arguments, the options by their names, and Commander's command. Absent if only others are below it. */
  run?: (...given: never[]) => number | Promise<number>;
}
