import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { describe as describeCommands } from './command-line.ts';

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
