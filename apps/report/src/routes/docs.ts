import { html } from 'hono/html';

interface Operation {
  summary?: string | undefined;
  parameters?: unknown;
}

interface Parameter {
  name: string;
  description: string;
  kind: string;
}

/** The API's description as a page, from its own OpenAPI document; no script and nothing from elsewhere. */
export function renderDocs(document: { paths?: object | undefined }) {
  const entries = Object.entries(document.paths ?? {}) as [string, { get?: Operation }][];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Keywarden report API</title>
        <style>
          :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
          body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
          section { border-top: 1px solid #8886; padding: 0.5rem 0 1rem; }
          h2 { font: 600 1.05rem ui-monospace, monospace; overflow-wrap: anywhere; }
          dt { font-family: ui-monospace, monospace; margin-top: 0.3rem; }
          dd { margin-left: 1.5rem; opacity: 0.8; }
        </style>
      </head>
      <body>
        <h1>Keywarden report API</h1>
        <p>
          Every request but those for <code>/healthz</code>, <code>/readyz</code>, <code>/openapi.json</code> and this page carries
          <code>Authorization: Bearer TOKEN</code>. Lists answer <code>{items, next_cursor}</code>. The archive stands below
          <code>/api/v2</code> in the control plane's own shapes. <a href="/openapi.json">openapi.json</a> is for machines.
        </p>
        ${entries.map(([path, { get }]) => renderEntry(path, get))}
      </body>
    </html>`;
}

function renderEntry(path: string, operation: Operation | undefined) {
  return html`<section>
    <h2>GET ${path}</h2>
    <p>${operation?.summary ?? ''}</p>
    <dl>
      ${readParameters(operation?.parameters).map(
        ({ name, kind, description }) => html`<dt>${name} <small>${kind}</small></dt>
          <dd>${description}</dd>`,
      )}
    </dl>
  </section>`;
}

function readParameters(parameters: unknown): Parameter[] {
  if (!Array.isArray(parameters)) return [];
  return parameters.flatMap(
    (parameter: { name?: string; schema?: { type?: string; enum?: string[]; description?: string } }) =>
      parameter.name === undefined
        ? []
        : [
            {
              name: parameter.name,
              kind: parameter.schema?.enum?.join(' | ') ?? parameter.schema?.type ?? '',
              description: parameter.schema?.description ?? '',
            },
          ],
  );
}
