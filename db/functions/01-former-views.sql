-- Views that have another name now. Those of ours that read them are dropped before, and made again after.
drop view if exists keywarden.control_plane_present;
