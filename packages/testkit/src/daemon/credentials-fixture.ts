import { policySchema } from '@keywarden/core/policy';
import { syncCredentials, syncKeys } from '@keywarden/daemon';
import { credentialList, readPage } from '@keywarden/db/report';
import { day, fixture, prepare, store } from './apply-fixture.ts';
import { connectionOf } from './fixture.ts';

// Bindings that the tests of credentials other than API keys share; each test gets new values.

interface Issued {
  token_id: string;
  api_token: string;
  s3_secret_access_key: string;
}

export let project: string;
export let branch: string;
export let list: string;
let beforeDelete: () => Promise<unknown>;
/** Changes responses on their way to the daemon. */
let answer: (url: string, response: Response) => Promise<Response>;

/** Prepares an organization with one project, whose generated credentials were revoked long ago. */
export async function prepareProject(policy: object = {}): Promise<void> {
  beforeDelete = () => Promise.resolve();
  answer = (_url, response) => Promise.resolve(response);
  const client = {
    fetch: async (...[input, init]: Parameters<typeof fetch>) => {
      if (init?.method === 'DELETE') await beforeDelete();
      const url = input instanceof Request ? input.url : String(input);
      return await answer(url, await fetch(input, init));
    },
  };
  await prepare(['busy'], { policy: policySchema.parse(policy), client });
  const projects = await fixture.controls.projects();
  project = projects[0]?.id ?? '';
  const { branches } = await fixture.ask<{ branches: { id: string; default: boolean }[] }>(
    'GET',
    `/projects/${project}/branches`,
  );
  branch = branches.find((each) => each.default)?.id ?? '';
  list = `/projects/${project}/branches/${branch}/credentials`;
  for (const { id } of branches) {
    const path = `/projects/${project}/branches/${id}/credentials`;
    const { credentials } = await fixture.ask<{ credentials: Issued[] }>('GET', path);
    for (const each of credentials) await fixture.ask('DELETE', `${path}/${each.token_id}`);
  }
}

export const issue = (name: string) =>
  fixture.ask<Issued>('POST', list, { name, scopes: ['storage:read'], principal_type: 'user' });

export const use = (id: string) => fixture.controls.useCredential(id);

/** Advances by a day and lists the credentials. */
export async function listed() {
  await fixture.controls.advance(day);
  await fixture.reconnect();
  await syncKeys(fixture.context, connectionOf(fixture));
  return await syncCredentials(fixture.context, connectionOf(fixture));
}

interface Shown {
  id: string;
  kind: string;
  name: string;
  state: string;
  holder: string | null;
  owner: string;
  branch_id: string | null;
  expires_at: string | null;
  detail: Record<string, unknown> | null;
}

export async function shown(filter: Parameters<typeof credentialList>[0] = {}): Promise<Shown[]> {
  const asked = credentialList(filter, { organizations: null });
  const { items } = await readPage(store.db, asked, { limit: 1000, after: null });
  return items.map((item) => JSON.parse(item) as Shown);
}

/** Sets the action that runs right before each DELETE. */
export function setBeforeDelete(act: typeof beforeDelete): void {
  beforeDelete = act;
}

/** Sets how responses are changed on their way. */
export function setAnswer(change: typeof answer): void {
  answer = change;
}
