import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sessionCookie } from '../access/authenticate.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const later = new Date(Date.now() + 20 * 86_400_000).toISOString();
const exemption = () => ({ keys: [fixture.keys['13']], reason: 'a migration', until: later });
const campaign = { title: 'autumn', split_by: 'organization', due_at: later };

/** Creates a record over the API, and returns its id. */
const make = async (path: string, body: object) => {
  const made = await fixture.ask(path, { as: 'operator', method: 'POST', body });
  expect(made.status).toBe(201);
  return String(made.body.id);
};

const newestSession = async () => {
  await fixture.signIn('viewer');
  return String((await fixture.ask('/v1/sessions?state=live', { as: 'operator' })).body.items[0]?.id);
};

const forms = [
  {
    name: 'cancels a campaign',
    id: async () => await make('/v1/campaigns', campaign),
    form: (id: string) => `/campaigns/${id}/cancel`,
    page: (id: string) => `/campaigns/${id}`,
    shown: (id: string) => `/v1/campaigns/${id}`,
    done: { state: 'canceled', canceled_because: 'asked for' },
    says: 'The campaign is canceled.',
  },
  {
    name: 'ends an exemption',
    id: async () => await make('/v1/exemptions', exemption()),
    form: (id: string) => `/exemptions/${id}/end`,
    page: () => '/exemptions',
    shown: () => `/v1/exemptions?key=${fixture.keys['13']}`,
    done: { items: [{ ended_by: 'operator (report token 3)' }] },
    says: 'The exemption has ended.',
  },
  {
    name: 'requests a rotation',
    id: () => fixture.keys['13'] ?? '',
    form: (id: string) => `/keys/${id}/rotation`,
    page: (id: string) => `/keys/${id}`,
    shown: (id: string) => `/v1/rotation-requests?key=${id}`,
    done: { items: [{ reason: 'asked for', requested_by: 'operator (report token 3)' }] },
    says: 'The rotation is requested.',
  },
  {
    name: 'rejects a plan',
    id: () => fixture.planId,
    form: (id: string) => `/plans/${id}/reject`,
    page: (id: string) => `/plans/${id}`,
    shown: (id: string) => `/v1/plans/${id}`,
    done: { rejected: true },
    says: 'You have rejected the plan.',
  },
  {
    name: 'ends a session',
    id: newestSession,
    form: (id: string) => `/sessions/${id}/end`,
    page: () => '/sessions',
    shown: () => '/v1/sessions?state=ended',
    done: { items: [{ state: 'ended' }] },
    says: 'The session has ended.',
  },
];

test.each(forms)('the form that $name does so for an operator, says so, and refuses a viewer', async (each) => {
  const id = await each.id();
  const submit = async (as: string) => {
    const headers = { host: 'h', origin: 'http://h', cookie: `${sessionCookie}=${await fixture.signIn(as)}` };
    const body = new URLSearchParams({ reason: 'asked for' });
    const answer = await fixture.app.request(each.form(id), { method: 'POST', headers, body });
    return { answer, headers };
  };
  const shown = async () => (await fixture.ask(each.shown(id), { as: 'operator' })).body;
  expect((await submit('viewer')).answer.status).toBe(403);
  expect(await shown()).not.toMatchObject(each.done);
  const { answer, headers } = await submit('operator');
  const [flash = ''] = answer.headers.getSetCookie();
  const to = answer.headers.get('location') ?? '';
  expect([answer.status, to.split('?')[0]]).toEqual([303, each.page(id)]);
  expect(await shown()).toMatchObject(each.done);
  const cookie = `${headers.cookie}; ${flash}`;
  const page = await fixture.app.request(to, { headers: { ...headers, cookie } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(each.says)]);
});
