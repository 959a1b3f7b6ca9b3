"""Tables past one machine's memory: Dask, files, and models that learn as rows arrive."""
