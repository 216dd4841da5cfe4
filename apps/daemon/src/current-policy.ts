import { hashPolicy } from '@keywarden/core/policy';
import { UserError } from '@keywarden/core/process';
import { closeIncidentsOf, openIncident } from '@keywarden/db/daemon';
import type { Context } from './context.ts';

/**
 * The context with the policy, channels and sinks that the configuration file has now: what a person has written there holds from the next
 * job on, without a restart. Null while the file cannot be used: then nothing is judged or revoked, and an incident says why.
 */
export async function withCurrentPolicy(context: Context): Promise<Context | null> {
  const { rereadConfig, store, log, config } = context;
  if (rereadConfig === undefined) return context;
  try {
    const { policy, channels, sinks } = rereadConfig();
    await closeIncidentsOf(store.sql, { kind: 'configuration', by: 'keywarden' });
    if (hashPolicy(policy) !== hashPolicy(config.policy))
      log.info('the policy of the configuration file holds from now on');
    return { ...context, config: { ...config, policy, channels, sinks } };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    log.error({ err: error }, 'the configuration file cannot be used, and nothing is judged or revoked until it can');
    await openIncident(store.sql, { kind: 'configuration', scope: '', detail: { why: error.message } });
    return null;
  }
}
