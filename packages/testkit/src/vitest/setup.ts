import { tmpdir } from 'node:os';
import { removeScratchFolder } from './scratch-folder.ts';

/** Removes the run's folder, which vitest.config.ts made. It is set up before all others, so it is torn down last. */
export default function setup(): () => void {
  return () => removeScratchFolder(tmpdir());
}
