import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Env } from '../services.ts';

const ours = (name: string) => new URL(`../dashboard/assets/${name}`, import.meta.url);

/** The library file beside the main file of its package. */
const chart = () => new URL('chart.umd.min.js', pathToFileURL(createRequire(import.meta.url).resolve('chart.js')));

const assets: Record<string, { file: () => URL; type: string }> = {
  'style.css': { file: () => ours('style.css'), type: 'text/css; charset=utf-8' },
  'dashboard.js': { file: () => ours('dashboard.js'), type: 'text/javascript; charset=utf-8' },
  'chart.js': { file: chart, type: 'text/javascript; charset=utf-8' },
  'icon.svg': { file: () => ours('icon.svg'), type: 'image/svg+xml' },
};

/** Adds the static files of the pages; none comes from another host. */
export function assetRoutes(app: OpenAPIHono<Env>): void {
  for (const [name, { file, type }] of Object.entries(assets)) {
    let content: string | undefined;
    app.get(`/assets/${name}`, (c) => {
      content ??= readFileSync(file(), 'utf8');
      return c.body(content, 200, { 'content-type': type, 'cache-control': 'public, max-age=3600' });
    });
  }
}
