import { sized } from '@keywarden/testkit';
import { type Answer, type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
let routes: Route[];
let validate: (pointer: string, value: unknown) => string | null;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  const reason = 'to be found';
  await fixture.ask('/v1/reviews', { as: 'auditor', method: 'POST', body: { title: 'first' } });
  await fixture.ask('/v1/exemptions', {
    as: 'operator',
    method: 'POST',
    body: { keys: [fixture.keys['12']], reason, for: '9d' },
  });
  const document = JSON.parse((await fixture.ask('/openapi.json')).text) as Document;
  routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'doc');
  validate = (pointer, value) => {
    const check = ajv.getSchema(`doc#${pointer}`) ?? ajv.compile({ $ref: `doc#${pointer}` });
    return check(value) ? null : ajv.errorsText(check.errors);
  };
  ({ schemas, responses } = document.components);
});
afterAll(async () => await fixture.close());

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  $ref?: string;
}

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Described>;
}

/** A response of the description, or a reference to one that several routes share. */
interface Described {
  content?: Record<string, unknown>;
  $ref?: string;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Described> };
}

interface Route {
  path: string;
  method: string;
  operation: Operation;
}

let { schemas, responses }: Document['components'] = { schemas: {}, responses: {} };

/** Invalid values that a client may still send. */
const junk = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    '\0',
    "'; drop table keywarden.key; --",
    '%',
    '../../etc',
    '-1',
    '1e9',
    'NaN',
    '9'.repeat(30),
    '0000-01-01T00:00:00Z',
  ),
  fc.constantFrom(
    '[]',
    'null',
    '2026-02-30T00:00:00Z',
    '99999-01-01T00:00:00Z',
    '2026-01-01T00:00:00+99:00',
    '=1+1',
    '\uD800',
    'ä'.repeat(300),
  ),
);

/** Returns values that match a schema, and values that exist in the store. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valueOf(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valueOf));
  const [type] = [schema.type ?? 'string'].flat();
  if (type === 'integer' || type === 'number')
    return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 5000 });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'array') return fc.array(valueOf(schema.items ?? {}), { maxLength: 3 });
  if (type === 'object') {
    const fields = Object.entries(schema.properties ?? {}).map(
      ([name, inner]) =>
        [
          name,
          inner.type === 'array' ? fc.array(named(name, inner.items ?? {}), { maxLength: 3 }) : named(name, inner),
        ] as const,
    );
    return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] });
  }
  if (schema.format === 'date-time')
    return fc
      .date({ min: new Date('2025-01-01'), max: new Date('2026-07-01'), noInvalidDate: true })
      .map((at) => at.toISOString());
  if (schema.pattern?.includes('(s|m|h|d)')) return fc.constantFrom('1s', '30d', '99999d');
  const known = [
    ...Object.values(fixture.keys),
    ...Object.keys(fixture.keys),
    fixture.planId,
    'acme',
    'other',
    'quiet-river',
    'main',
    '1',
    '2',
  ];
  return fc.constantFrom(
    ...known,
    'abcd2345',
    'never-used',
    'start_compute',
    'finished',
    'soc-2:CC6.1,pci-dss-4.0.1:7.2.4',
    'name',
    'keep',
    '00000000-0000-4000-8000-000000000003',
  );
}

/** Returns the existing values of each parameter name. */
const known = (): Record<string, string[]> => ({
  key: Object.values(fixture.keys),
  keys: Object.values(fixture.keys),
  plan_id: [fixture.planId],
  review: ['1', '2'],
  campaign: ['1', '2'],
  campaign_id: ['1', '2'],
  exemption: ['1', '2'],
  rotation_id: ['abcd2345'],
  project_id: ['quiet-river', 'bold-moon'],
  operation_id: ['00000000-0000-4000-8000-000000000003'],
  control: ['soc-2:CC6.1,pci-dss-4.0.1:10.5.1'],
  by: ['action', 'status,project'],
});

const named = (name: string, schema: Schema) => {
  const values = known()[name];
  return values === undefined ? valueOf(schema) : fc.constantFrom(...values);
};
const nearly = (name: string, schema: Schema) =>
  fc.oneof({ weight: 14, arbitrary: named(name, schema) }, { weight: 1, arbitrary: junk });

/** Returns requests of a route, most of them valid. */
function requestOf({ operation, path, method }: Route) {
  const parameters = operation.parameters ?? [];
  const given = parameters.map(({ name, in: where, required, schema }) =>
    fc
      .tuple(fc.integer({ min: 0, max: 9 }), nearly(name, schema))
      .map(([chance, value]) => ({ name, where, value: chance < (required ? 10 : 2) ? String(value) : undefined })),
  );
  const schema = operation.requestBody?.content['application/json']?.schema;
  return fc.record({
    method: fc.constant(method.toUpperCase()),
    path: fc.constant(path),
    given: fc.tuple(...given),
    stray: fc.oneof({ weight: 14, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: junk }),
    body:
      schema === undefined
        ? fc.constant(undefined)
        : fc.oneof({ weight: 9, arbitrary: valueOf(schema) }, { weight: 1, arbitrary: fc.jsonValue() }),
    as: fc.constantFrom('viewer', 'auditor', 'operator', 'operator', 'second operator', 'acme', null),
  });
}

type Request = ReturnType<typeof requestOf> extends fc.Arbitrary<infer T> ? T : never;

function addressOf({ path, given, stray }: Request): string {
  const filled = given
    .filter(({ where }) => where === 'path')
    .reduce(
      (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent((value ?? 'x').toWellFormed() || 'x')),
      path,
    );
  const query = new URLSearchParams();
  for (const { where, name, value } of given) if (where === 'query' && value !== undefined) query.append(name, value);
  if (stray !== null) query.append(stray.toWellFormed(), 'x');
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}

/** Returns how an answer deviates from its route's description; null if it matches. */
function complaintOf({ path, method, operation }: Route, { status, headers, text }: Answer): string | null {
  if (status >= 500) return text;
  const own = operation.responses[String(status)];
  const shared = own?.$ref?.split('/').slice(1);
  const described = shared === undefined ? own : responses[shared.at(-1) ?? ''];
  // A path filled with junk may match no route.
  if (described === undefined) return status === 404 ? null : `${status} is not described: ${text}`;
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const found = Object.keys(described.content ?? {}).find((each) => each.startsWith(type));
  if (found === undefined) return `${type} is not described`;
  if (!type.endsWith('json') || path.startsWith('/v1/exports')) return null;
  const place = [...(shared ?? ['paths', path, method, 'responses', String(status)]), 'content', found, 'schema'];
  const escaped = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
  return validate(`/${escaped.join('/')}`, JSON.parse(text));
}

let peers = 0;

test('P1: no request gets a 5xx or an answer that the description does not allow', async () => {
  const requests = fc.constantFrom(...routes).chain((route) => fc.tuple(fc.constant(route), requestOf(route)));
  const reached = new Set<Route>();
  const runs = sized(4000);
  await fc.assert(
    fc.asyncProperty(requests, async ([route, request]) => {
      peers += 1;
      const answer = await fixture.ask(addressOf(request), {
        as: request.as,
        method: request.method,
        body: request.body,
        headers: { 'x-peer': `127.${peers >> 16}.${(peers >> 8) & 255}.${peers & 255}` },
      });
      if (answer.status < 300) reached.add(route);
      expect(complaintOf(route, answer)).toBeNull();
    }),
    { numRuns: runs },
  );
  // Nearly every route gets some accepted requests; a short run misses some routes by chance.
  const missed = routes.filter((route) => !reached.has(route)).map(({ path }) => path);
  expect(missed.length).toBeLessThan(routes.length / (runs < 4000 ? 3 : 5));
});
