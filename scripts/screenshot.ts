import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@keywarden/testkit';
import { type Browser, isTooWide, openBrowser, type Page } from '@keywarden/testkit/report/browser';

// Makes the picture of the README: `npx node scripts/screenshot.ts` starts everything with a sandbox of its own, waits for the first plan, and saves the
// overview of the dashboard. `npx node scripts/screenshot.ts FOLDER` saves every page in three widths, light and dark, to look at.

const folder = process.argv[2];
const picture = new URL('../docs/images/overview.png', import.meta.url);

const data = mkdtempSync(join(tmpdir(), 'keywarden-picture-'));
const child = spawn(process.execPath, [fileURLToPath(new URL('start.ts', import.meta.url))], {
  env: {
    ...process.env,
    KEYWARDEN_DATA: data,
    DATABASE_URL: '',
    CONTROL_PLANE_URL: '',
    SANDBOX_PORT: '0',
    REPORT_PORT: '0',
    DAEMON_PORT: '0',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
try {
  const url = await until(() => /Report\s+(http:\S+)/.exec(output)?.[1]);
  const token = readFileSync(join(data, 'report-token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  await until(async () => {
    const answer = await fetch(`${url}/v1/plans?limit=1`, { headers });
    return (await answer.text()).includes('"sha256"');
  });
  const browser = await openBrowser();
  if (folder === undefined) {
    const page = await signIn(browser, { url, token, width: 1280, colorScheme: 'light' });
    mkdirSync(new URL('.', picture), { recursive: true });
    await page.screenshot({ path: fileURLToPath(picture) });
  } else {
    mkdirSync(folder, { recursive: true });
    const [key] = await firstIds('/v1/keys', 'number', { url, headers });
    const [plan] = await firstIds('/v1/plans', 'id', { url, headers });
    const [project] = await firstIds('/v1/projects', 'id', { url, headers });
    const due = new Date(Date.now() + 30 * 86_400_000).toISOString();
    await fetch(`${url}/v1/campaigns`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Second half of 2026', split_by: 'organization', due_at: due }),
    });
    for (const width of [1280, 1024, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await signIn(browser, { url, token, width, colorScheme });
        const menu = await page
          .locator('nav a')
          .evaluateAll((links) => links.map((each) => each.getAttribute('href') ?? ''));
        for (const path of [
          ...menu,
          '/ledger/events/1',
          `/keys/${key}`,
          `/plans/${plan}`,
          `/projects/${project}`,
          '/reviews/1',
          '/campaigns/1',
        ]) {
          await page.goto(`${url}${path}`);
          await page.waitForLoadState('networkidle');
          if (await isTooWide(page)) throw new Error(`${path} is too wide at ${width}`);
          const name = `${path.replaceAll('/', '_').slice(1) || 'overview'}-${width}-${colorScheme}.png`;
          await page.screenshot({ path: join(folder, name), fullPage: true });
        }
        await page.close();
      }
  }
  await browser.close();
} finally {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
  rmSync(data, { recursive: true, force: true });
}

async function signIn(
  browser: Browser,
  { url, token, width, colorScheme }: { url: string; token: string; width: number; colorScheme: 'light' | 'dark' },
): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 860 }, colorScheme });
  await page.goto(`${url}/`);
  await page.getByLabel('Report token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${url}/`);
  await page.waitForLoadState('networkidle');
  return page;
}

async function firstIds(
  path: string,
  name: string,
  { url, headers }: { url: string; headers: Record<string, string> },
): Promise<string[]> {
  const answer = await fetch(`${url}${path}?limit=1`, { headers });
  const { items } = (await answer.json()) as { items: Record<string, string>[] };
  return items.map((item) => item[name] ?? '');
}
