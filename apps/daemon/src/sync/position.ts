/**
 * A page's cursor, and the time `below` from which on upwards the page proves nothing. Its rows may be younger, up to `top`, if the page above has an unreadable
 * row: that row may be readable by then, or another may have appeared beside it.
 */
export type CursorPosition = { cursor: string; below: string; top?: string } | null;

/** Returns the time above which the page at a position has no row; undefined for the newest page. */
export const topOf = (position: CursorPosition): string | undefined => position?.top ?? position?.below;
