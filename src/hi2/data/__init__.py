"""What comes in: ids, vectors, ragged columns, files of documents, and where streams wait until their end."""
