import { until } from '@keywarden/testkit';
import { violations } from '@keywarden/testkit/report/browser';
import {
  browser,
  fixture,
  hasBrowser,
  mainText,
  signIn,
  url,
  useBrowser,
} from '@keywarden/testkit/report/browser-fixture';
import { describe, expect, test } from 'vitest';

describe.runIf(hasBrowser)('on paper', () => {
  useBrowser();

  test('a page and its charts are dark on white on paper, even if the screen is dark', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' });
    await signIn(page, 'operator');
    const changing =
      "[...document.querySelectorAll('*')].filter((each) => getComputedStyle(each).transitionDuration !== '0s').length";
    for (const place of ['/', `/plans/${fixture.planId}`]) {
      await page.goto(`${url}${place}`);
      expect(await page.evaluate(changing)).toBeGreaterThan(0);
      await page.emulateMedia({ media: 'print' });
      // A color that changes slowly would be printed half way.
      expect(await page.evaluate(changing)).toBe(0);
      expect(await violations(page, ['color-contrast'])).toEqual([]);
      await page.emulateMedia({ media: 'screen' });
    }
    await page.goto(`${url}/`);
    const inks =
      "[...document.querySelectorAll('canvas')].map((each) => Chart.getChart(each).options.plugins.legend.labels.color)";
    const ofScreen = new Set(await page.evaluate<string[]>(inks));
    await page.emulateMedia({ media: 'print' });
    await until(async () => (await page.evaluate<string[]>(inks)).every((ink) => ink === '#000000'));
    expect([...ofScreen]).toEqual(['#e6eaf3']);
    await page.close();
  });

  test('an open review has its keys on paper, and nothing to fill in; a list has its number of rows, and no exports', async () => {
    const { id } = (await fixture.ask('/v1/reviews', { as: 'auditor', method: 'POST', body: { title: 'to print' } }))
      .body;
    const page = await browser.newPage();
    await signIn(page, 'auditor');
    await page.goto(`${url}/reviews/${String(id)}`);
    await page.setViewportSize({ width: 760, height: 1000 });
    await page.emulateMedia({ media: 'print' });
    const printed = await mainText(page);
    // How many keys there are tells whether all of them are on the paper.
    for (const shown of ['key 12', 'never used in the 151 days', ' rows']) expect(printed).toContain(shown);
    for (const hidden of ['Select', 'Reason']) expect(printed).not.toContain(hidden);
    expect(await page.locator('input:visible, button:visible').count()).toBe(0);
    await page.goto(`${url}/keys`);
    // Narrow screens have cards instead, which would take four times as much paper.
    expect(await page.locator('.rows th').first().isVisible()).toBe(true);
    expect(await mainText(page)).toContain(' rows');
    expect(await mainText(page)).not.toContain('Export');
    await page.goto(`${url}/reviews`);
    const title = page.getByRole('heading', { name: 'Open a review' });
    expect(await title.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    expect(await title.isVisible()).toBe(true);
    await page.close();
  });

  test('the calendar of coverage shows its states on paper, and in the colors of the user', async () => {
    const page = await browser.newPage({ forcedColors: 'active' });
    await signIn(page, 'viewer');
    await page.goto(`${url}/coverage`);
    const pictures = [];
    for (const day of await page.locator('.legend .day').all())
      pictures.push((await day.screenshot()).toString('base64'));
    expect(new Set(pictures).size).toBe(5);
    // Browsers show the print media on a screen with all backgrounds.
    const adjusted =
      "[...document.querySelectorAll('.day')].every((day) => getComputedStyle(day).printColorAdjust === 'exact')";
    expect(await page.evaluate(adjusted)).toBe(true);
    await page.close();
  });
});
