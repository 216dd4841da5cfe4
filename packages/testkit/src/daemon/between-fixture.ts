import { policySchema } from '@keywarden/core/policy';
import { organization, prepare } from './apply-fixture.ts';
import { hurried, neverUsedRule } from './fixture.ts';

// A layer between the daemon and the sandbox: gateways, caches and replicas that respond in ways that the API description does not promise.

export type Answer = (request: { method: string; url: URL }, forward: () => Promise<Response>) => Promise<Response>;

let between: Answer;

/** Replaces the layer between the daemon and the sandbox. */
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
/** Forwards each request unchanged. */
export const plain: Answer = async (_request, forward) => await forward();
/** Returns whether a request lists the organization's keys. */
export const isKeyList = ({ method, url }: { method: string; url: URL }) =>
  method === 'GET' && url.pathname.endsWith(`/organizations/${organization}/api_keys`);

/** Prepares an organization with these keys, as `prepare` does, with an unchanged path to the sandbox. */
export async function prepareBetween(names: string[], policy: object = { rules: [neverUsedRule] }) {
  between = plain;
  return await prepare(names, { policy: policySchema.parse(policy), client });
}

/** Returns a list response with changed rows. */
export async function changed(forward: () => Promise<Response>, change: (rows: Record<string, unknown>[]) => unknown) {
  const response = await forward();
  const { status, headers } = response;
  return new Response(JSON.stringify(change((await response.json()) as Record<string, unknown>[])), {
    status,
    headers,
  });
}
