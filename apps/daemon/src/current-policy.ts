import { hashPolicy } from '@keywarden/core/policy';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Config } from '@keywarden/runtime/config';
import type { Context } from './context.ts';

/**
 * Returns the context with the policy, channels and sinks of the current configuration file. A change takes effect with the next job,
 * without a restart. Returns null while the file cannot be used: then nothing is judged or revoked, and an incident gives the reason.
 */
export async function withCurrentPolicy(context: Context): Promise<Context | null> {
  const current = rereadPolicy(context);
  await reportCurrentPolicy(context, current);
  if (current instanceof UserError) {
    context.log.error(
      { err: current },
      'the configuration file cannot be used; nothing is judged or revoked until it is fixed',
    );
    return null;
  }
  const { policy, channels, sinks } = current;
  if (hashPolicy(policy) !== hashPolicy(context.config.policy))
    context.log.info('the policy of the configuration file is now in force');
  return { ...context, config: { ...context.config, policy, channels, sinks } };
}

function rereadPolicy({ rereadConfig, config }: Pick<Context, 'rereadConfig' | 'config'>): Config | UserError {
  try {
    return rereadConfig?.() ?? config;
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/** Records for the other replicas which policy this one applies. While the running replicas do not agree, an incident is open. */
export async function reportCurrentPolicy(
  context: Pick<Context, 'store' | 'replica' | 'rereadConfig' | 'config'>,
  current: Config | UserError = rereadPolicy(context),
): Promise<void> {
  const { store, replica } = context;
  if (replica === null) return;
  await db.recordReplicaPolicy(store.db, {
    replica,
    policySha256: current instanceof UserError ? null : hashRules(current),
    why: current instanceof UserError ? current.message : null,
  });
  const why = describeDisagreement(await db.listReplicaPolicies(store.db));
  if (why === null) await db.closeIncidents(store.db, { kind: 'configuration' });
  else await db.openIncident(store.db, { kind: 'configuration', scope: '', detail: { why } });
}

/** Returns why replicas with different policies prevent automatic actions; null if all running replicas apply this one. */
export async function whyDisagreeing({ store, config }: Pick<Context, 'store' | 'config'>): Promise<string | null> {
  const own = { replica: '', policySha256: hashRules(config), why: null, reportedAt: '' };
  return describeDisagreement([own, ...(await db.listReplicaPolicies(store.db))]);
}

/** Hashes the policy and the channels that must accept its notifications. */
const hashRules = ({ policy, channels }: Pick<Config, 'policy' | 'channels'>): string =>
  sha256(canonicalJson([hashPolicy(policy), channels.map(({ name }) => name).toSorted()]));

function describeDisagreement(reported: db.ReplicaPolicy[]): string | null {
  const broken = reported.find(({ policySha256 }) => policySha256 === null);
  if (broken !== undefined) return `a replica cannot use its configuration file: ${broken.why}`;
  const policies = new Set(reported.map(({ policySha256 }) => policySha256?.slice(0, 12)));
  if (policies.size <= 1) return null;
  return `replicas on this database use different policies (${[...policies].join(', ')}); give all of them the same configuration file`;
}
