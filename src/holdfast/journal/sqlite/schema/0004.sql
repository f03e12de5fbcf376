-- What agents said is searched. The index of beginnings of two letters goes: with it, the index of a text is larger than
-- the text. The program fills the new index from the events.
DROP TABLE search;
CREATE VIRTUAL TABLE search USING fts5 (
    words, content = '', contentless_delete = 1, prefix = '3', tokenize = 'unicode61 remove_diacritics 2'
);
