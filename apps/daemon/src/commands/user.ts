import { userInfo } from 'node:os';

/** Who runs this; a user without a name, as in many containers, is known by number. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
