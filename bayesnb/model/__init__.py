"""The product of beliefs, its schema and class prior: owns the axes."""
