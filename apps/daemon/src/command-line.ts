import { readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import { exitCode, usageError } from '@keywarden/runtime';
import { configJsonSchema } from '@keywarden/runtime/config';
import { Command, CommanderError } from 'commander';
import { applyCommand } from './commands/apply.ts';
import { backtestCommand } from './commands/backtest.ts';
import { checkCommand } from './commands/check.ts';
import { addCommand, type CommandOf, describeCommand, renderHelp, requireBelow } from './commands/command.ts';
import { coverageCommand } from './commands/coverage.ts';
import { sessionListCommand, sessionRevokeCommand } from './commands/dashboard-sessions.ts';
import { enforceCommand } from './commands/enforce.ts';
import { exemptCommand, exemptionsCommand } from './commands/exemptions.ts';
import { incidentsCommand } from './commands/incidents.ts';
import { keysListCommand, keysShowCommand, ownerListCommand } from './commands/keys.ts';
import { ledgerCommand, receiptCommand } from './commands/ledger.ts';
import { migrateCommand } from './commands/migrate.ts';
import { ownerImportCommand, ownerSetCommand } from './commands/owners.ts';
import { armCommand, disarmCommand, pauseCommand, resumeCommand } from './commands/pause.ts';
import { planCommand } from './commands/plan.ts';
import { retentionCommand } from './commands/retention.ts';
import { rotateCommand } from './commands/rotate.ts';
import { rotationsCommand } from './commands/rotations.ts';
import { syncCommands } from './commands/sync.ts';
import { tokenCreateCommand, tokenListCommand, tokenRevokeCommand } from './commands/token.ts';
import { copyLedgerCommand, verifyCommand } from './commands/verify.ts';
import { witnessCommand } from './commands/witness.ts';

const runCommand = describeCommand({
  name: 'run',
  about: 'Start the daemon: sync, plan, notify, enforce and rotate on a schedule',
  output: 'text',
  examples: [''],
  async run() {
    // The queues take a while to load, and no other command needs them.
    const { runDaemon } = await import('./commands/run.ts');
    return await runDaemon();
  },
});

const schemaCommand = describeCommand({
  name: 'schema',
  about: 'Print the JSON Schema of keywarden.yaml for editors',
  output: 'text',
  examples: ['> keywarden.schema.json'],
  run() {
    console.log(JSON.stringify(configJsonSchema(), null, 2));
    return exitCode.done;
  },
});

/** Returns a command that only has others below it. */
const group = (name: string, about: string, example: string): CommandOf => ({
  name,
  about,
  output: 'text',
  examples: [example],
});

/** All commands, in the order of the help. */
const commands: CommandOf[] = [
  runCommand,
  ...syncCommands,
  planCommand,
  applyCommand,
  enforceCommand,
  rotateCommand,
  rotationsCommand,
  pauseCommand,
  resumeCommand,
  armCommand,
  disarmCommand,
  incidentsCommand,
  exemptCommand,
  exemptionsCommand,
  group('keys', 'Look at the stored API keys', 'list --idle-for 90d'),
  keysListCommand,
  keysShowCommand,
  group('owner', 'Assign owners to keys; by default the creator is the owner', 'set 1234567 --owner ada@example.com'),
  ownerListCommand,
  ownerSetCommand,
  ownerImportCommand,
  backtestCommand,
  coverageCommand,
  retentionCommand,
  ledgerCommand,
  receiptCommand,
  verifyCommand,
  copyLedgerCommand,
  witnessCommand,
  group('token', 'Manage the tokens of the report', 'list'),
  tokenCreateCommand,
  tokenListCommand,
  tokenRevokeCommand,
  group('session', 'Manage the sessions of the dashboard', 'list'),
  sessionListCommand,
  sessionRevokeCommand,
  checkCommand,
  schemaCommand,
  migrateCommand,
];

/** Examples of the commands that the library of completions adds: `completion SHELL`, and `complete`, which its scripts call. */
const completions: Record<string, string[]> = {
  completion: ['bash >> ~/.bashrc', 'zsh > ~/.zfunc/_keywarden', 'fish > ~/.config/fish/completions/keywarden.fish'],
  complete: ['-- keys li'],
};

/** Runs the command that `words` name and returns its exit code. Throws a UserError if they name no command. */
export async function runCommandLine(words: string[]): Promise<number> {
  refuseControlCharacters(words);
  let code: number = exitCode.done;
  const program = describe((each) => {
    code = each;
  });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.code === 'commander.help')
      return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    // An option with several values takes all words after it.
    const isTaken = error.code === 'commander.missingArgument' && words.some((word) => word.startsWith('-'));
    const { path, below } = findNamed(program, words);
    const advice = isTaken ? 'Write it before the options.' : `Run ${path} --help.`;
    // Commander takes a word that is no command below one with arguments for one argument too many.
    const message =
      error.code === 'commander.excessArguments' && below.length > 0
        ? `below ${path} there are only ${below.join(', ')}`
        : error.message;
    throw usageError(`${sentence(message)} ${advice}`);
  }
  return code;
}

/** Returns the command that the first words name, as a user types it, and the names of those below it. */
function findNamed(program: Command, words: string[]): { path: string; below: string[] } {
  let [command, path] = [program, program.name()];
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    [command, path] = [next, `${path} ${word}`];
  }
  return { path, below: command.commands.map((each) => each.name()) };
}

/** The options whose value is a text of several lines. */
const longTexts = ['--reason', '--note', '--begin-anew'];

/** A name with a line feed would forge a line wherever it is shown. */
function refuseControlCharacters(words: string[]): void {
  for (const [index, word] of words.entries()) {
    const isLong = longTexts.some((option) => words[index - 1] === option || word.startsWith(`${option}=`));
    if (/\p{Cc}/u.test(isLong ? word.replaceAll(/[\t\n]/g, '') : word))
      throw usageError(
        isLong
          ? 'A text has a control character other than tab and line feed; remove it.'
          : `${JSON.stringify(word)} has a control character; remove it.`,
      );
  }
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Returns the description of the command line. Each command passes its exit code to `done`. */
export function describe(done: (code: number) => void): Command {
  const program = new Command('keywarden')
    .description("Governs a hosted-Postgres control plane's API keys and keeps its operations history.")
    .version(version, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError();
  for (const each of commands) addCommand(program, each, done);
  tab(program, { completionCommandName: 'completion' });
  for (const [name, examples] of Object.entries(completions))
    requireBelow(program, name).addHelpText('after', renderHelp({ name, examples }));
  return program;
}

/** Returns Commander's message as one sentence on one line. */
function sentence(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? '' : '.'}`;
}
