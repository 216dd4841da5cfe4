import { globSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { describe as describeCommands, runCommandLine } from './command-line.ts';

const commandsOf = (command: Command): Command[] => command.commands.flatMap((each) => [each, ...commandsOf(each)]);

test('the help of each command has a summary in the imperative, an example and the exit codes', () => {
  const commands = commandsOf(describeCommands(() => undefined));
  expect(commands.length).toBeGreaterThan(25);
  for (const command of commands) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) });
    command.outputHelp();
    expect(`${command.name()}: ${command.description()}`).toMatch(/^[\w-]+: [A-Z][a-z]+ .{8,100}$/);
    expect(help).toMatch(/\nExamples:\n {2}keywarden /);
    expect(help).toMatch(/\nExit codes:\n {2}0 {2}done\n/);
  }
});

test('docs/REFERENCE.md has each command with its options, and each environment variable', () => {
  const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const page = read('docs/REFERENCE.md');
  const nameOf = (command: Command): string =>
    command.parent === null ? '' : `${nameOf(command.parent)} ${command.name()}`.trim();
  const missing = commandsOf(describeCommands(() => undefined))
    .filter((command) => command.commands.length === 0 && command.name() !== 'complete')
    .flatMap((command) => {
      const rows = page.split('\n').filter((line) => line.includes(`\`${nameOf(command)}`));
      const options = command.options.flatMap(({ long }) => long ?? []);
      // Those of every command with a result: the page has them once.
      const own = options.filter((option) => !['--json', '--output'].includes(option));
      return rows.length === 0
        ? [nameOf(command)]
        : own.filter((option) => !rows.some((row) => row.includes(option))).map((each) => `${nameOf(command)} ${each}`);
    });
  expect(missing).toEqual([]);
  const variables = [...read('packages/runtime/src/environment.ts').matchAll(/^ {2}([A-Z_]+):/gm)].map(
    ([, name]) => name,
  );
  expect(variables.length).toBeGreaterThan(25);
  expect(variables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('each command that a page shows exists, with its options', () => {
  const root = new URL('../../../', import.meta.url);
  const pages = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: root });
  const program = describeCommands(() => undefined);
  const isShort = (text: string) => program.commands.some((each) => text.startsWith(`${each.name()} `));
  const shown = pages
    .filter((page) => page !== 'CHANGELOG.md') // it names former options
    .flatMap((page) => [
      ...readFileSync(new URL(page, root), 'utf8').matchAll(
        /(?:^|`|\$ )((?:npm run (?:-s )?)?keywarden (?:-- )?)?([a-z][^`\n]*)/gm,
      ),
    ])
    .filter(([, prefix, text = '']) => prefix !== undefined || isShort(text))
    .map(([, , text = '']) => text.replace(/ +#.*/, ''));
  expect(shown.length).toBeGreaterThan(100);
  const wrong = shown.filter((text) => {
    let command = program;
    for (const word of text.split(' ')) command = command.commands.find((each) => each.name() === word) ?? command;
    const options = command.options.flatMap(({ long, short }) => [long, short]);
    return (
      command === program || [...text.matchAll(/(?<=[ [])--?[a-z][\w-]*/g)].some(([each]) => !options.includes(each))
    );
  });
  expect(wrong).toEqual([]);
});

test('a file that --key has taken for a key is asked for before the options', async () => {
  await expect(runCommandLine(['verify', '--key', 'key', 'approval.tlog-proof'])).rejects.toThrow(
    "Missing required argument 'file'. Write it before the options.",
  );
});

test.each([
  ['token', 'create', '--name', 'ada\nTokens: none', '--role', 'viewer'],
  ['token', 'create', '--name=ada\tx', '--role', 'viewer'],
  ['owner', 'set', '7', '--owner', 'ada\u0007'],
  ['exempt', '7', '--reason', 'a\u001b[2J', '--until', '90d'],
  ['pause', '--reason=a\rb'],
])('no text on the command line has a control character: %j', async (...words) => {
  await expect(runCommandLine(words)).rejects.toThrow(/has a control character/);
});

test('a reason may have several lines', async () => {
  for (const words of [['--reason', 'a\nb\tc'], ['--reason=a\nb']])
    await expect(runCommandLine(['pause', ...words, '--unknown'])).rejects.toThrow("Unknown option '--unknown'");
});

test.each([
  [['sync', 'key'], 'Below keywarden sync there are only keys, operations, credentials. Run keywarden sync --help.'],
  [['apply'], "Missing required argument 'plan-id'. Run keywarden apply --help."],
  [['coverag'], "Unknown command 'coverag' (Did you mean coverage?) Run keywarden --help."],
])('%j is answered with the help to read', async (words, message) => {
  await expect(runCommandLine(words)).rejects.toThrow(message);
});
