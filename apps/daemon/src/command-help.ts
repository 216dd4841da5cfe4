import type { Command } from 'commander';

interface Help {
  /** Arguments after the command's name, as a user types them. */
  examples: string[];
  /** Describes when the command exits with 3; absent if it never does. */
  needsPerson?: string;
}

/** The examples and the special exit code of each command, by its full name. */
const helpOf: Record<string, Help> = {
  run: { examples: [''] },
  sync: { examples: ['', '--connection acme'] },
  'sync keys': { examples: ['', '--connection acme --json'] },
  'sync operations': { examples: ['', '--connection acme'] },
  'sync credentials': { examples: [''] },
  plan: {
    examples: ['', '--organization org-quiet-river-1', '--review 3', '--json > plan.json'],
    needsPerson: 'some keys could not be listed, so the plan is partial',
  },
  apply: {
    examples: ['p-7b5742b7bdf7', 'p-7b5742b7bdf7 --yes --json'],
    needsPerson: 'some keys of the plan were not revoked, or their outcome is unknown',
  },
  enforce: {
    examples: ['', '--json'],
    needsPerson: 'an approval, an incident or a failed listing needs your attention',
  },
  rotate: {
    examples: ['', '1234567', '1234567 --sink vault'],
    needsPerson: 'a rotation stalled, an orphan needs your attention, or keys could not be listed',
  },
  rotations: { examples: ['', '--give-up k3v9x2ab'], needsPerson: 'a rotation is stalled' },
  pause: { examples: ['--reason "migration of the payment service"'] },
  resume: { examples: [''] },
  arm: { examples: [''] },
  disarm: { examples: [''] },
  incidents: { examples: ['', '--close 7 --note "a forgotten cron job"'], needsPerson: 'an incident is open' },
  exempt: {
    examples: [
      '1234567 --reason "used once a year" --until 400d',
      '--name "ci-*" --rule unused-90d --reason "build farm" --until 2027-03-31',
    ],
  },
  exemptions: { examples: ['', '--end 4'] },
  keys: { examples: ['list --idle-for 90d'] },
  'keys list': { examples: ['', '--idle-for 90d --output csv > idle.csv'] },
  'keys show': { examples: ['1234567'] },
  owner: { examples: ['set 1234567 --owner ada@example.com'] },
  'owner list': { examples: [''] },
  'owner set': { examples: ['1234567 --owner ada@example.com'] },
  'owner import': { examples: ['owners.csv'] },
  backtest: { examples: ['--from 2026-01-01', '--from 2026-01-01 --policy stricter.yaml'] },
  coverage: { examples: ['', '--project misty-tree-5c2091d2', '--keys'] },
  retention: { examples: ['', '--drop'] },
  ledger: {
    examples: ['', '--check', '--rotate-key', '--begin-anew "restored the backup of 2 May"'],
    needsPerson: 'the ledger or a row is not what was recorded',
  },
  receipt: { examples: ['plan_approval/17 > approval.tlog-proof', 'incident/3 --type incident.closed'] },
  verify: {
    examples: [
      'approval.tlog-proof --key keywarden/0123456789ab+01234567+AQ==...',
      'keywarden-operations-all-2026-01-01-2026-03-31.zip --key keywarden/0123456789ab+01234567+AQ==...',
    ],
    needsPerson: 'something is not proven: a gap, a day without a seal, or personal data that is not shown',
  },
  'copy-ledger': {
    examples: ['https://keywarden.example ledger --key keywarden/0123456789ab+01234567+AQ==...'],
    needsPerson: 'something is not proven: a witness has not cosigned, or the folder has other files',
  },
  witness: { examples: ['--name witness.example/one --log keywarden/0123456789ab+01234567+AQ==...'] },
  token: { examples: ['list'] },
  'token create': { examples: ['--name ada --role operator --expires 90d'] },
  'token list': { examples: ['', '--json'] },
  'token revoke': { examples: ['3'] },
  session: { examples: ['list'] },
  'session list': { examples: ['', '--json'] },
  'session revoke': { examples: ['12'] },
  check: { examples: [''], needsPerson: 'the newest listing of a scope is suspect' },
  schema: { examples: ['> keywarden.schema.json'] },
  migrate: { examples: ['', '--citus'] },
  completion: {
    examples: ['bash >> ~/.bashrc', 'zsh > ~/.zfunc/_keywarden', 'fish > ~/.config/fish/completions/keywarden.fish'],
  },
  complete: { examples: ['-- keys li'] },
};

/** Adds examples and exit codes to the help of a command and of those below it. Throws for a command that has no entry. */
export function addHelp(command: Command, path: string[] = []): void {
  for (const each of command.commands) {
    const name = [...path, each.name()].join(' ');
    const help = helpOf[name];
    if (help === undefined) throw new Error(`the command ${name} has no help`);
    each.addHelpText('after', render(name, help));
    addHelp(each, [...path, each.name()]);
  }
}

function render(name: string, { examples, needsPerson }: Help): string {
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

/** Returns Commander's message as one sentence on one line. */
export function sentence(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? '' : '.'}`;
}
