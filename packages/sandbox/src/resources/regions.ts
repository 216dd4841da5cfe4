/** The regions of the sandbox's projects. */
export const regions = [
  {
    region_id: 'aws-us-east-1',
    name: 'AWS US East 1 (N. Virginia)',
    default: false,
    geo_lat: '38.13',
    geo_long: '-78.45',
  },
  { region_id: 'aws-us-east-2', name: 'AWS US East 2 (Ohio)', default: true, geo_lat: '39.96', geo_long: '-83' },
  {
    region_id: 'aws-eu-central-1',
    name: 'AWS Europe Central 1 (Frankfurt)',
    default: false,
    geo_lat: '50.11',
    geo_long: '8.68',
  },
  {
    region_id: 'aws-ap-southeast-1',
    name: 'AWS Asia Pacific 1 (Singapore)',
    default: false,
    geo_lat: '1.37',
    geo_long: '103.8',
  },
  {
    region_id: 'azure-westus3',
    name: 'Azure West US 3 (Arizona)',
    default: false,
    geo_lat: '33.45',
    geo_long: '-112.07',
  },
];

export const defaultRegion = 'aws-us-east-2';
