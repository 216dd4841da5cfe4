import { patienceMs } from '@keywarden/testkit';
import { isTooWide, openBrowser, violations, watch } from '@keywarden/testkit/report/browser';
import { hasBrowser, signIn } from '@keywarden/testkit/report/browser-fixture';
import { listCredentials, makeCredential } from '@keywarden/testkit/report/fixture';
import { findHtmlFaults } from '@keywarden/testkit/report/html-faults';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';

// Rarely a headless Chromium draws no more frames, and what waits for one has no limit. Then the test opens another browser, once.
const options = { timeout: patienceMs, retry: { count: 1, condition: /timed out/ } };

describe.runIf(hasBrowser)('in a browser', options, () => {
  useServedFixture();
  /** The number of a database role in the store. */
  let credential: string;
  beforeAll(async () => {
    const keys = [
      makeCredential({ kind: 'role', id: 'br-main/app', name: 'app', extra: { protected: false } }),
      makeCredential({ kind: 'role', id: 'br-main/etl', name: 'etl' }),
    ];
    const listed = await listCredentials(fixture, { organizationId: 'acme', listedAt: '2026-05-31T00:00:00Z', keys });
    credential = listed['br-main/app'] ?? '';
    const due = new Date(Date.now() + 9 * 86_400_000).toISOString();
    const body = { title: 'Autumn', split_by: 'organization', due_at: due };
    await fixture.ask('/v1/campaigns', { as: 'auditor', method: 'POST', body });
  });

  /** Pages that the menu does not have. */
  const others = [
    '/keys?as_of=2026-03-01T00:00:00Z',
    '/credentials?as_of=2026-03-01T00:00:00Z',
    '/reviews/1',
    '/campaigns/1',
    '/projects/quiet-river',
    '/ledger/events/1',
    '/docs',
  ];

  const wrappedTimes =
    "[...document.querySelectorAll('td .ago')].filter((each) => each.getClientRects().length > 1).length";

  // What a color scheme or a width can break, beside what any page can.
  const modes: { colorScheme: 'light' | 'dark'; width: number; rules?: string[] }[] = [
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280, rules: ['color-contrast', 'link-in-text-block'] },
    // The narrowest beside the menu, and the narrowest with tables.
    { colorScheme: 'light', width: 1040, rules: ['scrollable-region-focusable'] },
    { colorScheme: 'light', width: 840, rules: ['scrollable-region-focusable'] },
    { colorScheme: 'light', width: 390 },
  ];
  const everyPlace = (menu: string[]) => [
    ...menu,
    ...others,
    `/keys/${fixture.keys['12']}`,
    `/keys/${credential}`,
    `/plans/${fixture.planId}`,
  ];

  // Each page is loaded once for all modes: the first axe run on a page is slow.
  test('in light, in dark, and at each width, every page is valid and accessible, fits its window, reports no errors and calls no other host', async () => {
    const { url } = server;
    const browser = await openBrowser();
    onTestFinished(async () => await browser.close());
    const page = await browser.newPage();
    const complaints = watch(page, url);
    const expectUsable = async (place: string) => {
      for (const { colorScheme, width, rules } of modes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.setViewportSize({ width, height: 800 });
        const where = [place, colorScheme, width];
        expect([...where, await isTooWide(page)]).toEqual([...where, false]);
        expect([...where, await page.evaluate(wrappedTimes)]).toEqual([...where, 0]);
        expect([...where, ...(await violations(page, rules))]).toEqual(where);
      }
    };
    await page.goto(`${url}/sign-in`);
    await expectUsable('/sign-in');
    await signIn(page, 'operator');
    const menu = await page
      .locator('nav a')
      .evaluateAll((links) => links.map((each) => each.getAttribute('href') ?? ''));
    expect(menu.length).toBeGreaterThan(15);
    for (const [index, place] of everyPlace(menu).entries()) {
      // The scripts of a page run as it loads, in each mode on some pages.
      const { colorScheme = 'light', width = 0 } = modes[index % modes.length] ?? {};
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 800 });
      const answer = await page.goto(`${url}${place}`);
      expect([place, answer?.status()]).toEqual([place, 200]);
      expect([place, ...(await findHtmlFaults((await answer?.text()) ?? ''))]).toEqual([place]);
      await expectUsable(place);
    }
    expect(complaints).toEqual([]);
  });
});
