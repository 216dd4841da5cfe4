import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { chromiumPath, openBrowser } from './browser.ts';
import { fixture, server, useServedFixture } from './served-fixture.ts';

export { fixture };

/** Whether this machine has a Chromium. If not, prints to standard error that the page tests do not run. */
export const hasBrowser = chromiumPath !== undefined;
if (!hasBrowser)
  console.error(
    'The browser tests of the dashboard did not run: Chromium is not installed. Install it, or set CHROMIUM to its path.',
  );

/** Bindings that page tests share; `useBrowser` sets them before the first test. */
export let browser: Browser;
export let url: string;

/** Serves a report over its own store and opens one browser, for all tests of a `describe`. */
export function useBrowser(): void {
  useServedFixture();
  beforeAll(async () => {
    url = server.url;
    browser = await openBrowser();
  });
  afterAll(async () => await browser.close());
}

/** Signs in with one of the fixture's tokens, given by name. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto(`${server.url}/`);
  await page.getByLabel('Report token').fill(fixture.tokens[token] ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${server.url}/`);
}

/** Returns the text of a page's main part, if it has one. */
export const mainText = async (page: Page) => (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
