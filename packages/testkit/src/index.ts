export { crashStdio } from './crash-stdio.ts';
export { sized } from './sized.ts';
export { realTime, until } from './until.ts';
