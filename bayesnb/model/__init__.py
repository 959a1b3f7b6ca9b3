"""The product of beliefs, its schema and class prior; this room inserts the axes."""
