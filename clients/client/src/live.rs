pub struct LiveThread;
