import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { patienceMs } from '../until.ts';

export type { Browser, Page } from 'playwright-core';

// A real browser for the page tests: the one installed on the machine, since none is downloaded.

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of the machine's Chromium; undefined if there is none. */
export const chromiumPath = [process.env.CHROMIUM, ...places].find((path) => path !== undefined && existsSync(path));

export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-gpu'],
    timeout: patienceMs,
    // Without the clock that TEST_DATE moves: pages show times of the server.
    env: { ...process.env, LD_PRELOAD: '' },
  });
  browser.on('context', (context) => context.setDefaultTimeout(patienceMs));
  return browser;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Collects what a page should not do: errors, and requests to other origins. The returned list grows while the page is open. */
export function watch(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:'))
      complaints.push(`request: ${request.url()}`);
  });
  return complaints;
}

/** Returns the serious accessibility violations that axe finds on a page, of all its rules or of some. */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe);
  const found = await page.evaluate(async (runOnly) => {
    // The library has defined this global.
    const { axe: library } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { target: unknown[] }[] }[] }>;
      };
    };
    return (await library.run({ resultTypes: ['violations'], preload: false, ...runOnly })).violations.map(
      ({ id, impact, nodes }) => ({
        id,
        impact,
        at: nodes.map(({ target }) => target.join(' ')),
      }),
    );
  }, rules && { runOnly: rules });
  return found
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, at }) => `${id}: ${at.slice(0, 3).join(', ')}`);
}

/**
 * Returns whether the page is wider than its window, or a table wider than its place. Charts are drawn again some frames after a change of the window,
 * and a browser without a screen may draw none for a while: what is too wide is measured again for a second.
 */
export async function isTooWide(page: Page): Promise<boolean> {
  return await page.evaluate<boolean>(`(async () => {
    const isWide = () => document.documentElement.scrollWidth > window.innerWidth ||
      [...document.querySelectorAll('.scroll')].some((each) => each.offsetParent !== null && each.scrollWidth > each.clientWidth + 1);
    for (let tries = 0; tries < 20 && isWide(); tries += 1) await new Promise((done) => setTimeout(done, 50));
    return isWide();
  })()`);
}
