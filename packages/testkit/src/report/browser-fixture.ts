import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import { chromiumPath, openBrowser } from './browser.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { listen } from './served.ts';

/** Whether this machine has a Chromium; says so on standard error when it has none, for then the tests of pages do not run. */
export const hasBrowser = chromiumPath !== undefined;
if (!hasBrowser)
  console.error(
    'The tests of the dashboard in a browser did not run: there is no Chromium here. Install it, or name it in CHROMIUM.',
  );

/** What the tests of pages share: bindings that `useBrowser` fills before the first of them. */
export let fixture: Fixture;
export let browser: Browser;
export let url: string;

/** Serves a report over a store of its own and opens one browser, for all tests of a `describe`. */
export function useBrowser(): void {
  let server: Awaited<ReturnType<typeof listen>>;
  beforeAll(async () => {
    fixture = await makeFixture(inject('postgresUrl'));
    server = await listen(fixture.app);
    url = server.url;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
    await fixture.close();
  });
}

/** Signs in with one of the fixture's tokens, by its name. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto(`${url}/`);
  await page.getByLabel('Report token').fill(fixture.tokens[token] ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${url}/`);
}

/** The text of a page's main part, when it has one. */
export const mainText = async (page: Page) => (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
