-- Drops views that have been renamed. Our views that read them are dropped earlier and created again later.
drop view if exists keywarden.control_plane_present;
