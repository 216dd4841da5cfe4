import { hasFinishedRun } from '@keywarden/db/daemon';
import { Cron } from 'croner';
import { connectionsOf } from './commands/session.ts';
import type { Connection } from './connect.ts';
import type { Context } from './context.ts';
import { type Enforced, enforce } from './enforce/enforce.ts';
import { planKeys } from './enforce/plan.ts';
import { enforceRetention } from './retention.ts';
import { type Rotated, rotate } from './rotate/rotate.ts';
import { syncKeys } from './sync/keys.ts';
import { syncOperations } from './sync/operations.ts';

/**
 * Starts the schedules. A tick that comes while its job still runs is left out, and a job that fails is logged and comes again
 * with the next tick. The answer stops them and waits for what runs.
 */
export function startSchedules(context: Context): () => Promise<void> {
  const running = new Set<Promise<void>>();
  const start = (name: string, pattern: string, work: () => Promise<void>) =>
    new Cron(pattern, { name, protect: true, timezone: 'UTC', unref: true }, async () => {
      const job = runJob(context, name, work);
      running.add(job);
      await job.finally(() => running.delete(job));
    });
  const schedule = (name: string, pattern: string, work: (connections: Connection[]) => Promise<void>) =>
    start(name, pattern, async () => await work(await connectionsOf(context, { goesOn: true })));
  const { keys, operations, sweep, enforce: enforcement, rotate: rotation, retention } = context.config.schedules;
  const jobs = [
    schedule('keys', keys, async (connections) => {
      await forEachConnection(context, connections, syncKeys);
      const plan = await planKeys(context, connections);
      const counts = { revoke: plan.document.items.length, held: plan.document.held.length };
      if (plan.isNew) context.log.info({ plan: plan.id, ...counts }, 'a new plan');
    }),
    schedule('operations', operations, (connections) => forEachConnection(context, connections, syncOperations)),
    schedule('sweep', sweep, (connections) => forEachConnection(context, connections, sweepOperations)),
    schedule('enforce', enforcement, async (connections) => {
      await forEachConnection(context, connections, syncKeys);
      logEnforced(context, await enforce(context, connections));
    }),
    schedule('rotate', rotation, async (connections) => {
      await forEachConnection(context, connections, syncKeys);
      logRotated(context, await rotate(context, connections));
    }),
    start('retention', retention, () => enforceRetention(context)),
  ];
  return async () => {
    for (const job of jobs) job.stop();
    await Promise.allSettled(running);
  };
}

function logEnforced({ log }: Context, { plan, announced, approved, byItself, why }: Enforced): void {
  const revoked = [...approved, ...(byItself === null ? [] : [byItself])]
    .flatMap(({ items }) => items)
    .filter(({ outcome }) => outcome === 'revoked').length;
  log.info({ plan: plan.id, revoked, notices: announced, ...(why === null ? {} : { why }) }, 'enforced');
}

function logRotated({ log }: Context, { opened, moved, orphans, why }: Rotated): void {
  const states = Object.fromEntries(
    [...Map.groupBy(moved, ({ rotation }) => rotation.state)].map(([state, group]) => [state, group.length]),
  );
  const begun = opened.filter(({ rotation }) => rotation !== null).length;
  const refused = opened.flatMap(({ whyNot }) => whyNot ?? []);
  const whyNot = Object.fromEntries(
    [...Map.groupBy(refused, (each) => each)].map(([each, group]) => [each, group.length]),
  );
  log.info({ begun, why_not: whyNot, states, orphans: orphans.length, ...(why === null ? {} : { why }) }, 'rotated');
}

/** Where the schedule of operations comes seldom, or its passes fail, every project is asked at least daily all the same. */
async function sweepOperations(context: Context, connection: Connection): Promise<void> {
  const recent = { kind: 'operations', connection: connection.name, hours: 20 } as const;
  if (!(await hasFinishedRun(context.store.sql, recent))) await syncOperations(context, connection);
}

async function runJob(context: Context, name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    context.log.debug({ job: name }, 'done');
  } catch (error) {
    if (context.signal.aborted) return;
    context.log.error({ job: name, err: error }, 'the job failed, and is tried again at its next time');
  }
}

/** One connection's failure does not stop the others. */
export async function forEachConnection(
  context: Context,
  connections: Connection[],
  work: (context: Context, connection: Connection) => Promise<unknown>,
): Promise<void> {
  for (const connection of connections) {
    await work(context, connection).catch((error: unknown) => {
      context.signal.throwIfAborted();
      context.log.error({ connection: connection.name, err: error }, 'the connection could not be synced');
    });
  }
}
