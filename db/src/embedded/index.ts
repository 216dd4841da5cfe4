export { stopPostmaster } from './cluster.ts';
export { openEmbedded } from './embedded.ts';
export { planLaunch } from './launch.ts';
