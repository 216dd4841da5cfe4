import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { readSdkTypes } from './sdk-types.ts';

// For tests: the control plane's own OpenAPI 3.0 document, as its official client package ships it, and the newer package's declarations.

interface OpenApi {
  paths: Record<string, Record<string, { responses?: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

interface Response {
  $ref?: string;
  content?: Record<string, { schema: object }>;
}

/** The contract of the service: its routes, and a check of a route's responses. */
export interface Contract {
  /** Routes of either package, such as `GET /projects/{project_id}`. */
  routes: string[];
  /** Routes that only one of the two has. */
  onlyIn: { document: string[]; sdk: string[] };
  /** Returns null if the status is documented for the route and the body matches its schema. */
  findFault(route: string, status: number, body: unknown): string | null;
}

export function readContract(): Contract {
  const entry = createRequire(import.meta.url).resolve('@neondatabase/api-client');
  const document = parse(readFileSync(join(dirname(entry), '..', 'public-v2-for-users.gen.yaml'), 'utf8')) as OpenApi;
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('int', { type: 'number', validate: Number.isInteger });
  ajv.addFormat('uint64', { type: 'number', validate: (value) => Number.isInteger(value) && value >= 0 });
  ajv.addSchema(asJsonSchema({ ...document }) as object, 'contract');
  const validators = new Map<object, ValidateFunction>();
  const validatorOf = (schema: object): ValidateFunction => {
    const known = validators.get(schema) ?? ajv.compile(asJsonSchema(schema) as object);
    validators.set(schema, known);
    return known;
  };
  const responseOf = (route: string, status: number): Response | undefined => {
    const [method = '', path = ''] = route.split(' ');
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const found = responses[String(status)] ?? (status >= 400 ? responses.default : undefined);
    return found?.$ref ? document.components.responses[found.$ref.split('/').at(-1) ?? ''] : found;
  };
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    ['get', 'post', 'put', 'patch', 'delete']
      .filter((method) => method in item)
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const sdk = readSdkTypes();
  const inDocument = new Set(documented);
  const inSdk = new Set(sdk.routes);
  return {
    routes: [...new Set([...documented, ...sdk.routes])],
    onlyIn: {
      document: documented.filter((route) => !inSdk.has(route)).toSorted(),
      sdk: sdk.routes.filter((route) => !inDocument.has(route)).toSorted(),
    },
    findFault(route, status, body) {
      const undeclared = sdk.findFault(route, status, body);
      if (undeclared !== null) return `@neon/sdk: ${undeclared}`;
      if (!inDocument.has(route)) return null;
      const response = responseOf(route, status);
      if (response === undefined) return `status ${status} is not documented for ${route}`;
      const schema = response.content?.['application/json']?.schema;
      if (schema === undefined) return null;
      const validate = validatorOf(schema);
      return validate(body) ? null : ajv.errorsText(validate.errors);
    },
  };
}

/** Converts an OpenAPI 3.0 schema to JSON Schema: `nullable` becomes a null type, and references stay within the document. */
function asJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copied = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === '$ref' ? `contract${String(value)}` : asJsonSchema(value),
    ]),
  );
  if (copied.nullable !== true) return copied;
  const { nullable: _nullable, ...rest } = copied;
  return { anyOf: [{ type: 'null' }, rest] };
}
