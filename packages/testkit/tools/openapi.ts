import { readFileSync, writeFileSync } from 'node:fs';
import { createApp } from '@keywarden/report';
import { createLogger } from '@keywarden/runtime';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import createTypes, { astToString } from 'openapi-typescript';
import postgres from 'postgres';

// `check` fails if Redocly or Spectral finds a problem in the report's OpenAPI description, or if the generated types of a client are not those of
// the description. `generate` writes the types.

const typesFile = new URL('../src/report/openapi-types.ts', import.meta.url);

/** What the linters ask of every description that does not apply to this one. */
const redoclyRules = {
  // The product is not licensed to the public.
  'info-license': 'off',
  // Probes refuse no caller.
  'operation-4xx-response': 'off',
} as const;
const spectralRules = {
  // Each installation has its own contact.
  'info-contact': 'off',
} as const;

/** Returns the description, from an app that connects to nothing. */
async function readDescription(): Promise<string> {
  const app = createApp({
    sql: postgres('postgres://127.0.0.1:1/none'),
    requestsPerMinute: 1,
    log: createLogger('openapi', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    transport: { isTls: false, proxies: [] },
    marks: { move: async () => undefined },
    now: Date.now,
    peerOf: () => '127.0.0.1',
  });
  return await (await app.request('/openapi.json')).text();
}

async function listProblems(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], rules: redoclyRules });
  const byRedocly = await lintFromString({ source: text, absoluteRef: '/openapi.json', config });
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [oas], rules: spectralRules });
  const bySpectral = await linter.run(JSON.parse(text) as Record<string, unknown>);
  return [
    ...byRedocly.map(({ ruleId, message, location }) => `${location[0]?.pointer}: ${message} (Redocly ${ruleId})`),
    ...bySpectral.map(({ code, message, path }) => `#/${path.join('/')}: ${message} (Spectral ${code})`),
  ];
}

const text = await readDescription();
const types = `// Generated from the report's OpenAPI description by packages/testkit/tools/openapi.ts.\n\n${astToString(await createTypes(text))}`;
if (process.argv[2] === 'generate') {
  writeFileSync(typesFile, types);
  console.log('Wrote the types of a client.');
} else {
  const problems = await listProblems(text);
  for (const problem of problems) console.error(problem);
  const isCurrent = readFileSync(typesFile, 'utf8') === types;
  if (!isCurrent)
    console.error(
      'The types of a client are not those of the description: run npx node packages/testkit/tools/openapi.ts generate.',
    );
  if (problems.length > 0 || !isCurrent) process.exitCode = 1;
  else console.log('The OpenAPI description has no problem, and the types of a client are its own.');
}
