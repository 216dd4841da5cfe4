import {
  type ControlPlaneClient,
  ControlPlaneError,
  createClient,
  createLimiter,
  type Limiter,
  noLimiter,
  systemTime,
  type Time,
} from '@keywarden/core/client';
import type { Config, ConnectionConfig } from '@keywarden/core/config';
import { UserError } from '@keywarden/core/process';
import { saveConnection } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';

/** A connection that has authenticated. */
export interface Connection {
  name: string;
  baseUrl: string;
  client: ControlPlaneClient;
  /** The number of its control plane in the store. */
  controlPlane: string;
  accountId: string;
  isPersonal: boolean;
  ownKeyId: string | null;
  isSandbox: boolean;
  /** The control plane's clock less ours, in ms, by its `Date`. */
  skewMs: number;
}

/** What a connection learns when it authenticates, before anything is stored. */
export type Identity = Omit<Connection, 'controlPlane'>;

type Limiters = Map<string, Limiter>;

/** Authenticates every connection; those of one account share a limiter (L1). The first that fails throws. */
export async function openConnections(sql: Sql, config: Config, time: Time = systemTime): Promise<Connection[]> {
  const limiters: Limiters = new Map();
  const connections: Connection[] = [];
  for (const configured of config.connections) {
    const identity = await identify(configured, { usesSandbox: config.usesSandbox, limiters, time });
    const controlPlane = await saveConnection(sql, {
      name: identity.name,
      baseUrl: identity.baseUrl,
      accountId: identity.accountId,
      authMethod: identity.isPersonal ? 'api_key_user' : 'api_key_org',
      ownKeyId: identity.ownKeyId,
      isSandbox: identity.isSandbox,
      checkedAt: new Date(time.now() + identity.skewMs).toISOString(),
    });
    connections.push({ ...identity, controlPlane });
  }
  return connections;
}

/** Asks whose the credential is. Throws a UserError that names the mend. */
export async function identify(
  { name, url, apiKey, keyId, share }: ConnectionConfig,
  { usesSandbox, limiters = new Map(), time = systemTime }: { usesSandbox: boolean; limiters?: Limiters; time?: Time },
): Promise<Identity> {
  const first = createClient({ baseUrl: url, apiKey, time });
  const answer = await first.auth().catch((error: unknown) => {
    throw describeFailure(error, { name, url, usesSandbox });
  });
  if (answer.dateMs === null)
    throw new UserError(
      `The control plane at ${url} sends no Date, and its time cannot be known; check CONTROL_PLANE_URL.`,
    );
  // Only a loopback address may call itself a sandbox: its time is moved and its limits may be off.
  const isSandbox =
    answer.server === 'keywarden-sandbox' && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
  const limiter =
    isSandbox && answer.limits === 'off'
      ? noLimiter
      : limiterFor(limiters, `${url} ${answer.accountId}`, { share, time });
  return {
    name,
    baseUrl: url,
    client: createClient({ baseUrl: url, apiKey, limiter, time }),
    accountId: answer.accountId,
    isPersonal: answer.authMethod === 'api_key_user',
    ownKeyId: keyId,
    isSandbox,
    skewMs: answer.dateMs - time.now(),
  };
}

function limiterFor(limiters: Limiters, account: string, options: { share: number; time: Time }): Limiter {
  const limiter = limiters.get(account) ?? createLimiter(options);
  limiters.set(account, limiter);
  return limiter;
}

/** The sentence for a connection that does not answer as it should. */
function describeFailure(
  error: unknown,
  { name, url, usesSandbox }: { name: string; url: string; usesSandbox: boolean },
): unknown {
  if (!(error instanceof ControlPlaneError)) return error;
  if (error.code === 'unauthenticated') {
    return new UserError(
      `The control plane at ${url} refuses the key of connection ${name}; mend CONTROL_PLANE_API_KEY or the connection's key.`,
    );
  }
  if (error.code === 'unreachable' || error.code === 'unavailable') {
    const mend = usesSandbox
      ? 'start the sandbox with npm start or npm run sandbox, or set CONTROL_PLANE_URL and CONTROL_PLANE_API_KEY'
      : 'check CONTROL_PLANE_URL and the network';
    return new UserError(`The control plane at ${url} does not answer (connection ${name}); ${mend}.`);
  }
  return new UserError(
    `The control plane at ${url} does not answer as one (${error.message}); check CONTROL_PLANE_URL.`,
  );
}
