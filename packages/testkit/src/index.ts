export { crashStdio } from './crash-stdio.ts';
export { mostLagMs } from './hostile/caches.ts';
export { copy } from './hostile/exchange.ts';
export { createHostileControlPlane, type HostileControlPlane } from './hostile/hostile-control-plane.ts';
export type { Mask } from './hostile/masks.ts';
export * as masks from './hostile/masks.ts';
export { sized } from './sized.ts';
export { patienceMs, realTime, until } from './until.ts';
