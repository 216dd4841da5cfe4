import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

/** What is shown without the menu, or is no page. */
const others = ['/docs', '/healthz', '/ledger/checkpoint', '/metrics', '/readyz', '/sign-in'];

test('the menu of an operator has each page that is not about one record', async () => {
  const { text } = await fixture.ask('/', { as: 'operator' });
  const menu = [...(/<nav [^]*?<\/nav>/.exec(text)?.[0] ?? '').matchAll(/href="([^"]+)"/g)].map(
    ([, href = '']) => href,
  );
  const routes = fixture.app.routes.filter(({ method, path }) => method === 'GET' && !/[:*.]|^\/(v1|api)\//.test(path));
  const pages = new Set(routes.map(({ path }) => path).filter((path) => !others.includes(path)));
  expect(menu.length).toBeGreaterThan(15);
  expect(menu.toSorted()).toEqual([...pages].toSorted());
});
