-- Times are UTC milliseconds. Types are SQLite's; store/migrate.py says what they are on PostgreSQL.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    until INTEGER
);

CREATE TABLE feed (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    interval_ms INTEGER NOT NULL,
    spec TEXT NOT NULL DEFAULT '{}',       -- what pages and commands show of it; never headers or secrets
    position INTEGER NOT NULL DEFAULT 0,
    from_chat INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,                        -- when a claim may take it: next poll, or end of the lease; NULL: never
    next_poll_at INTEGER NOT NULL,
    asked_until INTEGER,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    etag TEXT,
    last_modified TEXT,
    validators_url TEXT,
    title TEXT NOT NULL DEFAULT '',
    site_url TEXT,
    primed_at INTEGER,
    last_poll_at INTEGER,
    last_ok_at INTEGER,
    last_new_at INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    error TEXT,
    stopped TEXT,
    paused_at INTEGER,
    resumed_at INTEGER,
    gone_at INTEGER,
    entries INTEGER NOT NULL DEFAULT 0,    -- how many it has had
    memory TEXT NOT NULL DEFAULT '{}',
    listing BLOB NOT NULL                  -- pairs of 16 bytes: hash of an item, key of its entry
);
CREATE INDEX feed_due ON feed (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: deliveries point here
    feed_no INTEGER NOT NULL REFERENCES feed (no),
    key BLOB NOT NULL,
    sort_at INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    published INTEGER,
    updated INTEGER,
    date_only INTEGER NOT NULL DEFAULT 0,
    content_hash TEXT NOT NULL,
    edits INTEGER NOT NULL DEFAULT 0,
    withdrawn_at INTEGER,
    pruned INTEGER NOT NULL DEFAULT 0,
    guid TEXT,
    link TEXT,
    canonical TEXT,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    section TEXT NOT NULL,
    author TEXT,
    image TEXT,
    text TEXT NOT NULL,
    search TEXT NOT NULL,                  -- title, text and tags, folded
    summary_html TEXT NOT NULL,
    content_html TEXT NOT NULL
);
CREATE INDEX entry_by_feed ON entry (feed_no, sort_at, id);
CREATE INDEX entry_by_time ON entry (sort_at, id);
CREATE INDEX entry_by_key ON entry (key);
CREATE INDEX entry_by_guid ON entry (guid) WHERE guid IS NOT NULL;
CREATE INDEX entry_by_canonical ON entry (canonical) WHERE canonical IS NOT NULL;

CREATE TABLE seen (
    feed_no INTEGER NOT NULL,
    hash BLOB NOT NULL,
    entry_id INTEGER NOT NULL,
    PRIMARY KEY (feed_no, hash)
) WITHOUT ROWID;

CREATE TABLE entry_tag (
    tag TEXT NOT NULL,                     -- folded
    sort_at INTEGER NOT NULL,
    entry_id INTEGER NOT NULL,
    feed_no INTEGER NOT NULL,
    PRIMARY KEY (tag, sort_at, entry_id)
) WITHOUT ROWID;

CREATE TABLE feed_tag (
    feed_no INTEGER NOT NULL,
    tag TEXT NOT NULL,
    shown TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (feed_no, tag)
) WITHOUT ROWID;

CREATE TABLE story (
    destination_uid TEXT NOT NULL,
    hash BLOB NOT NULL,
    feed_no INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (destination_uid, hash)
) WITHOUT ROWID;
CREATE INDEX story_until ON story (until);

CREATE TABLE destination (
    uid TEXT PRIMARY KEY,
    due_at INTEGER,                        -- when a claim may take it; NULL: nothing owed, or parked for good
    not_before INTEGER,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    remote_id TEXT,
    name TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    unwell_since INTEGER,
    parked TEXT,
    parked_at INTEGER,
    probe_at INTEGER,
    unsubscribed INTEGER NOT NULL DEFAULT 0,
    can_look_up INTEGER,
    why_not TEXT,
    last_sent_at INTEGER,
    gone_at INTEGER
);
CREATE INDEX destination_due ON destination (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE delivery (
    id INTEGER PRIMARY KEY,
    idem TEXT NOT NULL UNIQUE,
    destination_uid TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    place INTEGER,                         -- a digest stands where its first member stood; NULL: its own id
    wake_at INTEGER,                       -- when it is next looked at; NULL: settled, held, or member of a digest
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    entry_id INTEGER REFERENCES entry (id) ON DELETE SET NULL,
    edit_no INTEGER NOT NULL DEFAULT 0,
    bundle TEXT,
    digest_id INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    first_try_at INTEGER,
    last_try_at INTEGER,
    settled_at INTEGER,
    looked_at INTEGER,
    looks INTEGER NOT NULL DEFAULT 0,
    plain INTEGER NOT NULL DEFAULT 0,
    late INTEGER NOT NULL DEFAULT 0,
    remote_ref TEXT,
    rendered_hash TEXT,
    error TEXT,
    notice TEXT,
    options TEXT NOT NULL,
    payload TEXT
);
CREATE INDEX delivery_wake ON delivery (destination_uid, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX delivery_order ON delivery (destination_uid, COALESCE(place, id)) WHERE wake_at IS NOT NULL;
CREATE INDEX delivery_sending ON delivery (destination_uid) WHERE state = 'sending';
CREATE INDEX delivery_stuck ON delivery (state, id) WHERE state IN ('held', 'dead');
CREATE INDEX delivery_entry ON delivery (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX delivery_digest ON delivery (digest_id) WHERE digest_id IS NOT NULL;

CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    delivery_id INTEGER NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    answer TEXT NOT NULL
);
CREATE INDEX attempt_delivery ON attempt (delivery_id, id);

CREATE TABLE notice (
    key TEXT PRIMARY KEY,
    words TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX notice_at ON notice (at);

CREATE TABLE inbound_seen (
    id TEXT PRIMARY KEY,
    until INTEGER NOT NULL
);
CREATE INDEX inbound_until ON inbound_seen (until);

CREATE TABLE chat_feed (
    feed_id TEXT PRIMARY KEY,
    destination_uid TEXT NOT NULL,
    tags TEXT NOT NULL,                    -- only entries with one of these, as typed; empty: all
    added_by TEXT NOT NULL,
    added_at INTEGER NOT NULL
);

CREATE TABLE follow (
    destination_uid TEXT NOT NULL,
    tag TEXT NOT NULL,                     -- folded
    shown TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    PRIMARY KEY (destination_uid, tag)
);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL
);
