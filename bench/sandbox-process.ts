import { createSandbox, noLimits } from '@keywarden/sandbox';

// The sandbox in a separate process, so that its cost is measured separately from its reader's. It sends its address, then on each message the
// processor time and memory that it has used. It exits when its parent exits.

const sandbox = await createSandbox({ file: process.argv[2] ?? ':memory:', limits: noLimits });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6, residentMb: process.memoryUsage.rss() / 2 ** 20 });
});
process.on('disconnect', () => process.exit());
process.send?.({ url: sandbox.url, controlUrl: sandbox.controlUrl, adminKey: sandbox.adminKey });
