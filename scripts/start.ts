import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Totals } from '@keywarden/db/report';
import {
  aborted,
  type Environment,
  ensureDataFolder,
  readDataFile,
  readEnvironment,
  runMain,
  stopSignal,
  UserError,
} from '@keywarden/runtime';
import { readConfig } from '@keywarden/runtime/config';
import { bringToPresent, prepareSandbox, runToEnd } from './sandbox-company.ts';
import { type ServiceOptions, startService } from './supervisor.ts';

interface SandboxReady {
  url: string;
  controlUrl: string;
  isEmpty: boolean;
}

interface ReportReady {
  url: string;
}

interface DaemonReady {
  totals: Totals;
  plan: { id: string; revoke: number; held: number; report: number };
}

interface Launch<Ready> extends Pick<ServiceOptions<Ready>, 'envAgain' | 'onAgain'> {
  file: string;
  args?: string[];
}

const daemonFile = 'apps/daemon/src/main.ts';
const sandboxLaunch = (company: { operations: number }): Launch<SandboxReady> => ({
  file: 'packages/sandbox/src/main.ts',
  envAgain: ({ url }) => ({ SANDBOX_PORT: new URL(url).port }),
  onAgain: (ready) => prepareSandbox(ready, company),
});
const reportLaunch: Launch<ReportReady> = {
  file: 'apps/report/src/main.ts',
  envAgain: ({ url }) => ({ REPORT_PORT: new URL(url).port }),
};

/** `npm start`: the sandbox unless a control plane is configured, the report and the daemon, until Ctrl-C. */
await runMain(async () => {
  const environment = readEnvironment(process.env);
  ensureDataFolder(environment.KEYWARDEN_DATA);
  const { usesSandbox } = readConfig(environment, process.env, { secrets: false });
  const signal = stopSignal();
  const services: { stop(): Promise<void> }[] = [];
  let givenUp: UserError | undefined;
  const failure = new AbortController();
  const launch = <Ready>(name: string, { file, args = [], ...again }: Launch<Ready>): Promise<Ready> => {
    signal.throwIfAborted();
    const service = startService<Ready>({
      name,
      command: commandOf(file, args),
      env: serviceEnv(),
      ...again,
      signal,
      onGivenUp: (error) => {
        givenUp = error;
        failure.abort();
      },
    });
    services.unshift(service);
    return service.ready;
  };
  try {
    const company = { operations: environment.SANDBOX_OPERATIONS };
    const sandbox = usesSandbox ? await launch<SandboxReady>('sandbox', sandboxLaunch(company)) : undefined;
    if (sandbox) await prepareSandbox(sandbox, company);
    if (sandbox)
      await bringToPresent(
        sandbox,
        async () => await runToEnd(commandOf(daemonFile, ['sync']), { env: serviceEnv(), signal }),
      );
    const [report, daemon] = await Promise.all([
      launch<ReportReady>('report', reportLaunch),
      launch<DaemonReady>('daemon', { file: daemonFile, args: ['run'] }),
    ]);
    console.log(renderWelcome({ environment, sandbox, report, daemon }));
    await aborted(AbortSignal.any([signal, failure.signal]));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (signal.aborted) console.error('Stopping ...');
    for (const service of services) await service.stop();
  }
  if (givenUp) throw givenUp;
  console.error('Stopped. npm start continues from here.');
  return 0;
});

function commandOf(file: string, args: string[]): string[] {
  return [process.execPath, ...process.execArgv, fileURLToPath(new URL(`../${file}`, import.meta.url)), ...args];
}

/** Returns the first tasks for a new user, each with its page. */
function renderTour(url: string, { plan, totals: { oldest, unserved } }: DaemonReady): string[] {
  const from = oldest === null ? new Date() : new Date(oldest);
  const month = (offset: number) =>
    new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + offset, 1)).toISOString().slice(0, 10);
  const tasks: [string, string][] = [
    ['look at the stale keys', `${url}/keys?idle_for=90d&state=active`],
    ['approve a part of the plan', `${url}/plans/${plan.id}`],
    [
      unserved > 0 ? 'read what is gone upstream' : 'read the oldest operations',
      `${url}/operations?from=${month(0)}&to=${month(1)}`,
    ],
  ];
  return tasks.map(([text, page], index) => `  ${index + 1}. ${text.padEnd(36)} ${page}`);
}

function serviceEnv(): NodeJS.ProcessEnv {
  return { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' };
}

function renderWelcome({
  environment,
  sandbox,
  report,
  daemon: { totals, plan },
}: {
  environment: Environment;
  sandbox: SandboxReady | undefined;
  report: ReportReady;
  daemon: DaemonReady;
}): string {
  const folder = relative(process.cwd(), environment.KEYWARDEN_DATA) || '.';
  const count = (value: number) => value.toLocaleString('en-US');
  const token = readDataFile(environment.KEYWARDEN_DATA, 'report-token') ?? '';
  const lines: [string, string][] = [
    ['Report', `${report.url} (its API is described at ${report.url}/docs)`],
    ['First token', `${token} (kept in ${folder}/report-token)`],
    ...(sandbox ? [['Sandbox', `${sandbox.url} (its state is in ${folder}/sandbox.sqlite)`] as [string, string]] : []),
    [
      'Archive',
      `${count(totals.operations)} operations of ${count(totals.projects)} projects since ${totals.oldest?.slice(0, 10) ?? 'never'}, ${count(totals.keys)} keys in ${count(totals.organizations)} organizations`,
    ],
    ...(totals.unserved > 0
      ? [
          [
            '',
            `${count(totals.unserved)} of them are older than the six months that the control plane serves: only the archive has them`,
          ] as [string, string],
        ]
      : []),
    [
      'Policy',
      `plan ${plan.id}: ${count(plan.revoke)} keys to revoke, ${count(plan.held)} held, ${count(plan.report)} to report; nothing is revoked until you approve it`,
    ],
  ];
  const settings = process.env.KEYWARDEN_DATA ? `KEYWARDEN_DATA='${environment.KEYWARDEN_DATA}' ` : '';
  const apply = `  ${settings}npm run keywarden -- apply ${plan.id}  revoke exactly those`;
  return [
    '',
    'Keywarden runs.',
    ...lines.map(([label, text]) => `  ${label.padEnd(12)} ${text}`),
    '',
    'Three things to try in the report (sign in with the first token):',
    ...renderTour(report.url, { plan, totals }),
    '',
    'Next, run these commands in another terminal:',
    `  ${settings}npm run keywarden -- plan                  which keys, and why`,
    ...(plan.revoke > 0 ? [apply] : []),
    `  curl -H "Authorization: Bearer $(cat '${folder}/report-token')" '${report.url}/v1/keys?limit=2'`,
    '',
    'Ctrl-C stops everything; the next npm start continues from there.',
  ].join('\n');
}
