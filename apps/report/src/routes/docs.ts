import { html } from 'hono/html';

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  description?: string;
  $ref?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
}

interface Operation {
  summary?: string;
  description?: string;
  parameters?: { name: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

interface Document {
  paths?: object | undefined;
  components?: { schemas?: object };
}

/** Returns the OpenAPI document as JSON, and as a page. */
export const describeApi = (document: Document) => ({
  json: JSON.stringify(document),
  page: renderDocs(document),
});

/** Returns the API documentation as a page, from the OpenAPI document. It has no script and loads nothing from other hosts. */
function renderDocs(document: Document) {
  // The document is our own; the page shows only these parts of its schemas.
  const paths = (document.paths ?? {}) as Record<string, Record<string, Operation>>;
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Keywarden report API</title>
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="icon" href="/assets/icon.svg" />
      </head>
      <body class="docs">
        <main>
          <h1>Keywarden report API</h1>
          <p>
            Send <code>Authorization: Bearer TOKEN</code> with every request except <code>/healthz</code>, <code>/readyz</code>,
            <code>/openapi.json</code> and this page. Lists return <code>{items, next_cursor}</code> and <code>Link: rel="next"</code>.
            Errors are problem details (RFC 9457). Times are RFC 3339; ids are text. The archive is under <code>/api/v2</code>, in the
            control plane's own shapes. See also <a href="/openapi.json">openapi.json</a> and <a href="/">the dashboard</a>.
          </p>
          <nav aria-label="Routes">
            <ul class="routes">
              ${entries.map(
                ({ path, method }) =>
                  html`<li><a href="#${anchor(method, path)}"><code>${method} ${path}</code></a></li>`,
              )}
            </ul>
          </nav>
          ${entries.map(renderEntry)}
          <h2 id="shapes">Shapes</h2>
          ${Object.entries(schemas).map(
            ([name, schema]) => html`<section id="shape-${name}">
              <h3>${name}</h3>
              ${schema.description === undefined ? '' : html`<p>${schema.description}</p>`}
              <dl>
                ${Object.entries(schema.properties ?? {}).map(
                  ([field, inner]) => html`<dt>${field} <small>${kindOf(inner)}</small></dt>
                    <dd>${inner.description ?? ''}</dd>`,
                )}
              </dl>
            </section>`,
          )}
        </main>
      </body>
    </html>`;
}

const anchor = (method: string, path: string) => `${method}${path}`.replace(/[^\w]+/g, '-').toLowerCase();

function renderEntry({ path, method, operation }: { path: string; method: string; operation: Operation }) {
  const body = operation.requestBody?.content?.['application/json']?.schema;
  const answers = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2'));
  return html`<section id="${anchor(method, path)}">
    <h2><code>${method} ${path}</code></h2>
    <p>${operation.summary ?? ''}</p>
    ${operation.description === undefined ? '' : html`<p><small>${operation.description}</small></p>`}
    <dl>
      ${(operation.parameters ?? []).map(
        ({ name, schema, required, description }) => html`<dt>
            ${name} <small>${schema === undefined ? '' : kindOf(schema)}${required ? ', required' : ''}</small>
          </dt>
          <dd>${description ?? schema?.description ?? ''}</dd>`,
      )}
      ${body === undefined ? '' : html`<dt>body <small>${kindOf(body)}</small></dt><dd></dd>`}
      ${answers.map(
        ([status, { content }]) => html`<dt>${status} <small>${Object.keys(content ?? {}).join(', ')}</small></dt>
          <dd>${Object.values(content ?? {}).map(({ schema }) => (schema === undefined ? '' : kindOf(schema)))[0] ?? ''}</dd>`,
      )}
    </dl>
  </section>`;
}

/** Returns a short description of a schema: its name, its values or its type. */
function kindOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
  if (schema.enum !== undefined) return schema.enum.join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(kindOf).join(' or ');
  if (schema.items !== undefined) return `list of ${kindOf(schema.items)}`;
  const fields = Object.entries(schema.properties ?? {}).map(([name, inner]) => `${name}: ${kindOf(inner)}`);
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  return [schema.type ?? 'anything'].flat().join(' or ');
}
