import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

async function catalogFixture() {
  const fixture = await projectFixture();
  const path = `/projects/${fixture.project}`;
  const act = async <T = { message: string }>(method: string, rest: string, body?: object) => {
    const answer = await fixture.api<T>(`${path}${rest}`, { method, body });
    await fixture.settle(fixture.project);
    return answer;
  };
  return { ...fixture, act, catalog: `/branches/${fixture.branch}` };
}

test('a role that owns a database is not deleted until the database has another owner', async () => {
  const { act, catalog } = await catalogFixture();
  await act('POST', `${catalog}/roles`, { role: { name: 'reporter' } });
  await act('POST', `${catalog}/databases`, { database: { name: 'reports', owner_name: 'reporter' } });
  const message = 'cannot delete a role that owns a database; database_name:"reports"';
  expect(await act('DELETE', `${catalog}/roles/reporter`)).toMatchObject({ status: 422, body: { message } });
  const give = async (owner: string) =>
    await act('PATCH', `${catalog}/databases/reports`, { database: { owner_name: owner } });
  expect((await give('stranger')).status).toBe(422);
  expect(await give('neondb_owner')).toMatchObject({
    status: 200,
    body: { database: { name: 'reports', owner_name: 'neondb_owner' } },
  });
  expect((await act('DELETE', `${catalog}/roles/reporter`)).status).toBe(200);
});

test('a connection URI is of the named compute, which must belong to the named branch', async () => {
  const { act, branch, endpoint } = await catalogFixture();
  const other = await act<{ branch: { id: string }; endpoints: { id: string }[] }>('POST', '/branches', {
    endpoints: [{ type: 'read_only' }],
  });
  const reader = other.body.endpoints[0]?.id ?? '';
  const uri = async (query: string) => {
    const named = `database_name=neondb&role_name=neondb_owner&${query}`;
    const { status, body } = await act<{ uri?: string }>('GET', `/connection_uri?${named}`);
    return [status, body.uri?.split('@')[1]?.split('.')[0]];
  };
  expect(await uri('')).toEqual([200, endpoint]);
  expect(await uri(`endpoint_id=${reader}`)).toEqual([200, reader]);
  expect(await uri(`endpoint_id=${reader}&branch_id=${other.body.branch.id}`)).toEqual([200, reader]);
  expect(await uri(`endpoint_id=${reader}&branch_id=${branch}`)).toEqual([422, undefined]);
  expect(await uri(`branch_id=${other.body.branch.id}`)).toEqual([404, undefined]);
});

test('schemas are compared with the parent or with a named branch, and shown as SQL or JSON', async () => {
  const { act, branch, catalog } = await catalogFixture();
  const child = (await act<{ branch: { id: string } }>('POST', '/branches', {})).body.branch.id;
  await act('POST', `${catalog}/roles`, { role: { name: 'reporter' } });
  await act('PATCH', `${catalog}/databases/neondb`, { database: { owner_name: 'reporter' } });
  const diff = async (id: string, query = '') =>
    (await act<{ diff?: string }>('GET', `/branches/${id}/compare_schema?db_name=neondb${query}`)).body.diff?.split(
      '\n',
    );
  const changed = ['-ALTER SCHEMA public OWNER TO reporter;', '+ALTER SCHEMA public OWNER TO neondb_owner;'];
  expect(await diff(child)).toEqual(expect.arrayContaining(changed));
  expect(await diff(branch, `&base_branch_id=${child}`)).toContain('+ALTER SCHEMA public OWNER TO reporter;');
  expect((await act('GET', `${catalog}/compare_schema?db_name=neondb`)).status).toBe(400);
  const schema = async (format: string) =>
    (await act('GET', `${catalog}/schema?db_name=neondb&format=${format}`)).status;
  expect([await schema('sql'), await schema('json'), await schema('yaml')]).toEqual([200, 200, 400]);
});
