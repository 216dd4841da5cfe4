import { policySchema } from '@keywarden/core/policy';
import { organization, prepare } from './apply-fixture.ts';
import { hurried, neverUsedRule } from './fixture.ts';

// What stands between the daemon and the sandbox: gateways, caches and replicas that answer in ways the description does not promise.

export type Answer = (request: { method: string; url: URL }, forward: () => Promise<Response>) => Promise<Response>;

let between: Answer;

/** Puts something else between them. */
export function setBetween(answer: Answer): void {
  between = answer;
}

const client = {
  time: hurried,
  fetch: (async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return await between({ method: init?.method ?? 'GET', url }, async () => await fetch(input, init));
  }) as typeof fetch,
};
/** Nothing between them. */
export const plain: Answer = async (_request, forward) => await forward();
/** Whether a request lists the organization's keys. */
export const isKeyList = ({ method, url }: { method: string; url: URL }) =>
  method === 'GET' && url.pathname.endsWith(`/organizations/${organization}/api_keys`);

/** An organization with these keys, as `prepare` makes it, with nothing between yet. */
export async function prepareBetween(names: string[], policy: object = { rules: [neverUsedRule] }) {
  between = plain;
  return await prepare(names, { policy: policySchema.parse(policy), client });
}

/** A list's rows, changed. */
export async function changed(forward: () => Promise<Response>, change: (rows: Record<string, unknown>[]) => unknown) {
  const response = await forward();
  const { status, headers } = response;
  return new Response(JSON.stringify(change((await response.json()) as Record<string, unknown>[])), {
    status,
    headers,
  });
}
