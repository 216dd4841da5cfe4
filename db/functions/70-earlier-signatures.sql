-- Reviews that an earlier version signed are compared with their content from now on.
update keywarden.review_signature set content_sha256 = keywarden.review_content_hash(review_number) where content_sha256 is null;
