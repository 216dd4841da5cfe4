export { makeScratchFolder, removeScratchFolder } from './scratch-folder.ts';
