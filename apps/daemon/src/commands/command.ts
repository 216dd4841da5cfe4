import { usageError } from '@keywarden/runtime';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { type Answer, addOutput, type OutputOptions, printAnswer } from './output.ts';
import { type Needs, withContext } from './with-context.ts';

/** A command of the command line: its words, its help, and what it does. A file of this folder declares each. */
export interface CommandOf {
  /** The words after `keywarden`: `keys list`. The command of the first word has the others. */
  name: string;
  /** What it does, in the imperative. */
  about: string;
  /** Each argument with its description: `<file>`, `[key...]`. */
  arguments?: readonly (readonly [flags: string, about: string])[];
  /** Each option with its description. A `value` counts where the option is not given. */
  required?: Record<string, string>;
  options?: Flags;
  /** `list` has table, JSON and CSV, `result` has text and JSON, `text` has no choice. Commands that only have others below them have none. */
  output: 'list' | 'result' | 'text';
  /** Arguments and options as a user types them. */
  examples: string[];
  /** When it exits with 3; absent if it never does. */
  needsPerson?: string;
  /** What is open while it runs; without it, it opens what it needs. */
  needs?: Needs;
  /** Throws a UserError for arguments that can be refused before anything is opened. */
  check?: (...given: never[]) => void;
  /**
   * Returns what it found, or the exit code if it has printed that itself. Gets the open context if it needs one, the arguments, the options by their
   * names, and Commander's command. Absent if only others are below it.
   */
  run?: (...given: never[]) => Answer | Promise<Answer>;
}

type Flags = Record<string, string | { about: string; value: string }>;

/** The name by which a command gets an option: `giveUp` for `--give-up <id>`. */
type NameOf<F> = F extends `--${infer Words} ${string}`
  ? Camel<Words>
  : F extends `--${infer Word}`
    ? Camel<Word>
    : never;
type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type ValueOf<F> = F extends `${string}...${string}` ? string[] : F extends `${string}<${string}` ? string : boolean;

/** The options of a command by their names. Those without a value of their own may be absent. */
type Options<R, O> = OutputOptions & { [F in keyof R as NameOf<F>]: ValueOf<F> } & {
  [F in keyof O as O[F] extends string ? NameOf<F> : never]?: ValueOf<F>;
} & { [F in keyof O as O[F] extends string ? never : NameOf<F>]: ValueOf<F> };

type Arguments<A extends NonNullable<CommandOf['arguments']>> = {
  -readonly [I in keyof A]: A[I] extends readonly [`${string}...${string}`, string] ? string[] : string;
};

interface Described<A extends NonNullable<CommandOf['arguments']>, R extends Record<string, string>, O extends Flags, N>
  extends Omit<CommandOf, 'arguments' | 'required' | 'options' | 'needs' | 'check' | 'run'> {
  arguments?: A;
  required?: R;
  options?: O;
  needs?: N;
  check?: (...given: [...Arguments<A>, Options<R, O>]) => void;
  run: (...given: [...(N extends Needs ? [Context] : []), ...Arguments<A>, Options<R, O>]) => Answer | Promise<Answer>;
}

/** Returns a command. What its functions get has the types of its arguments and options. */
export function describeCommand<
  const A extends NonNullable<CommandOf['arguments']> = [],
  R extends Record<string, string> = Record<string, string>,
  O extends Flags = Flags,
  N extends Needs | undefined = undefined,
>(described: Described<A, R, O, N>): CommandOf {
  return described as unknown as CommandOf; // addCommand passes what the types say
}

/** Adds a command below the one of its first words. */
export function addCommand(program: Command, described: CommandOf, done: (code: number) => void): void {
  const { name, about, required = {}, options = {}, output, needs, check, run } = described;
  const words = name.split(' ');
  const parent = words.slice(0, -1).reduce((above, word) => requireBelow(above, word), program);
  const command = parent.command(words.at(-1) ?? '').description(about);
  for (const [argument, of] of described.arguments ?? []) command.argument(argument, of);
  for (const [flags, of] of Object.entries(required)) command.requiredOption(flags, of);
  for (const [flags, of] of Object.entries(options))
    if (typeof of === 'string') command.option(flags, of);
    else command.option(flags, of.about, of.value);
  if (output !== 'text') addOutput(command, { isList: output === 'list' });
  if (run !== undefined)
    command.action(async (...given: unknown[]) => {
      // Commander passes what the arguments and options of the same description name.
      const answer = async (...all: unknown[]) =>
        printAnswer(await run(...(all as never[])), command.opts<OutputOptions>());
      assertValues(command);
      check?.(...(given as never[]));
      done(await (needs === undefined ? answer(...given) : withContext((context) => answer(context, ...given), needs)));
    });
  command.addHelpText('after', renderHelp(described));
}

/** Throws a UserError for an option whose value is empty, as from a variable of a script that is not set, or is the next option. */
function assertValues(command: Command): void {
  const flags = command.options.flatMap(({ short, long }) => [short, long]);
  for (const option of command.options) {
    const values: unknown[] = [command.getOptionValue(option.attributeName())].flat();
    for (const value of values)
      if (typeof value === 'string' && (/^\s*(--\S*)?$/.test(value) || flags.includes(value)))
        throw usageError(`${option.flags} needs a value, and "${value}" is none.`);
  }
}

/** Returns the command of a word below another one. Throws if it is not described before. */
export function requireBelow(above: Command, word: string): Command {
  const found = above.commands.find((each) => each.name() === word);
  if (found === undefined) throw new Error(`there is no command ${word} below ${above.name()}`);
  return found;
}

/** Returns the examples and the exit codes of a command, as they are printed below its options. */
export function renderHelp({
  name,
  examples,
  needsPerson,
}: Pick<CommandOf, 'name' | 'examples' | 'needsPerson'>): string {
  return [
    '',
    'Examples:',
    ...examples.map((words) => `  keywarden ${name} ${words}`.trimEnd()),
    '',
    'Exit codes:',
    '  0  done',
    '  1  failed',
    '  2  wrong usage or configuration',
    ...(needsPerson === undefined ? [] : [`  3  done, but ${needsPerson}`]),
  ].join('\n');
}
